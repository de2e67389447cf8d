//! Local memory that the assembler keeps in registers, as the machine code shows before it runs.

use gpucast_interpreter::Program;
use gpucast_ptx_frontend::isa::InstructionClass;
use gpucast_ptx_frontend::module::Instruction;
use gpucast_ptx_frontend::types::StateSpace;

use super::MachineError;
use super::code::Code;
use super::image::Image;
use super::listing::meaning_of;

/// The instructions of `program` whose accesses to local memory its machine code in the cubin
/// `image` does not make, as indices into [`Program::instructions`].
///
/// The whole code decides. If it has no access to local memory, every array is in registers. If it
/// has one, no instruction is named: an access of machine code may stand for several of the PTX,
/// and its line names one of them. An access by a generic address may go to local memory, so it
/// keeps the PTX's generic accesses there.
///
/// # Errors
///
/// [`MachineError`] if the cubin is damaged, of another kernel or for an unknown architecture.
pub fn local_in_registers(image: &[u8], program: &Program) -> Result<Vec<u32>, MachineError> {
    let code = Code::read(&Image::parse(image, program.kernel())?)?;
    let accesses = code.instructions.iter().filter_map(|one| meaning_of(&one.decoded).access);
    let spaces: Vec<Option<StateSpace>> = accesses.map(|(space, _)| space).collect();
    if spaces.contains(&Some(StateSpace::Local)) {
        return Ok(Vec::new());
    }
    let may_be_generic = !spaces.contains(&None);
    let is_in_registers =
        |one: &Instruction| match one.modifiers.iter().find_map(|modifier| modifier.as_space()) {
            Some(space) => space == StateSpace::Local,
            None => may_be_generic && one.form.form().class == InstructionClass::LoadStore,
        };
    let instructions = (0..).zip(program.instructions());
    let found = instructions.filter(|(_, one)| is_in_registers(&one.instruction));
    Ok(found.map(|(index, _)| index).collect())
}
