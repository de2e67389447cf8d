//! A plan's module as it is executed: with filled variables.
//!
//! The host's part goes into the module before it is lowered: values of `[symbols.NAME]` become
//! initial contents, and `-dlcm=cg` becomes `.cg` on plain loads. Interpreter and counters need not
//! know of either.

use gpucast_ptx_frontend::Module;
use gpucast_ptx_frontend::module::{InitializerItem, InitializerValue, Variable};
use gpucast_ptx_frontend::types::StateSpace;

use super::execute::{self, Loaded};
use crate::failure::{Report, suggest};
use crate::input::kernel_name;
use crate::input::plan::{Plan, Symbol};

/// Parses a plan's module and fills its symbols.
///
/// # Errors
///
/// Everything that is wrong with the text, or the first symbol that cannot be filled.
pub fn load(plan: &Plan) -> Result<Loaded, Vec<Report>> {
    let mut loaded = execute::load(&plan.module)?;
    for symbol in &plan.symbols {
        fill(symbol, plan, &mut loaded.module).map_err(|report| vec![report])?;
    }
    Ok(loaded)
}

/// Writes a symbol's values over the initial contents of its variable: the host's copy comes
/// before the first launch, so that no kernel can tell the difference.
fn fill(symbol: &Symbol, plan: &Plan, module: &mut Module) -> Result<(), Report> {
    let wrong = |message: String| Report::new(message).at(&symbol.anchor);
    let index = variable(symbol, plan, module)?;
    let variable = &mut module.variables[index];
    let element = symbol.ty.bytes() as u64;
    let bytes = match symbol.len {
        Some(len) => len as u64 * element,
        None => variable.size_bytes,
    };
    if bytes > variable.size_bytes || !bytes.is_multiple_of(element) {
        return Err(wrong(format!(
            "`{}` has {} bytes, and {bytes} bytes of {} do not fit",
            symbol.name,
            variable.size_bytes,
            symbol.ty.name()
        )));
    }
    let mut contents = vec![0; bytes as usize];
    symbol
        .init
        .fill(symbol.ty, &mut contents, &plan.folder)
        .map_err(|error| wrong(error.to_string()))?;
    // Later items win. The bytes they replace may be the address of another variable.
    let value = InitializerValue::Bytes(contents.into());
    variable.initializer.push(InitializerItem { offset: 0, value });
    Ok(())
}

/// The module's variable that a symbol means.
fn variable(symbol: &Symbol, plan: &Plan, module: &Module) -> Result<usize, Report> {
    let is_symbol = |variable: &Variable| {
        variable.function.is_none()
            && matches!(variable.space, StateSpace::Const | StateSpace::Global)
    };
    let known: Vec<&str> = module
        .variables
        .iter()
        .filter(|&variable| is_symbol(variable))
        .map(|variable| variable.name.as_str())
        .collect();
    let found = kernel_name::meant(&symbol.name, &known);
    let report = match found[..] {
        [name] => {
            let is_meant = |one: &Variable| is_symbol(one) && one.name == name;
            return Ok(module.variables.iter().position(is_meant).unwrap_or_default());
        }
        [] => {
            let file = &plan.module.name;
            let message = format!("{file} has no variable `{}` to fill", symbol.name);
            Report::new(message).maybe_hint(suggest(&symbol.name, known))
        }
        _ => Report::new(format!("`{}` may mean {}", symbol.name, found.join(", ")))
            .hint("give more of the name"),
    };
    Err(report.at(&symbol.anchor))
}
