//! The textures of a plan in a memory that has its buffers.

use gpucast_interpreter::DeviceMemory;
use gpucast_ptx_frontend::{Module, ScalarType};

use crate::failure::Report;
use crate::input::plan::Plan;

/// Makes a plan's textures in a memory that has its buffers, and binds them to the variables of
/// their names.
///
/// # Errors
///
/// A texture that nothing could name, with its place.
pub(crate) fn create(
    plan: &Plan,
    module: &Module,
    memory: &mut DeviceMemory,
) -> Result<(), Report> {
    for texture in &plan.textures {
        let wrong = |message: String| Report::new(message).at(&texture.anchor);
        let is_variable = module.variables.iter().any(|variable| {
            let is_reference = matches!(variable.ty, ScalarType::Texref | ScalarType::Surfref);
            is_reference && variable.name == texture.name
        });
        if !is_variable && !texture.is_argument {
            return Err(wrong(format!("no launch uses texture `{}`", texture.name)).hint(format!(
                "pass its handle, args = [{{ texture = \"{0}\" }}], or give it the name of a \
                 .texref or .surfref variable of the module",
                texture.name
            )));
        }
        let address = memory.address(&plan.buffers[texture.buffer].name).unwrap_or_default();
        let handle = memory
            .textures
            .create(texture.object(address))
            .map_err(|error| wrong(error.to_string()))?;
        memory.textures.bind_name(&texture.name, handle);
    }
    Ok(())
}
