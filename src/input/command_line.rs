//! The arguments of a module's kernel from the command line: buffers get names and indices.

use super::argument::{self, ArgumentSyntax};
use super::plan::{Buffer, PlannedArgument};
use super::structure::Structure;
use crate::failure::{Anchor, Report, SourceText, suggest};

/// Reads every `--arg`. A buffer is named after its argument, `arg0`, `arg1`, …; in a structure
/// with its place behind it, `arg1.0`.
pub(super) fn arguments(texts: &[String]) -> Result<(Vec<Buffer>, Vec<PlannedArgument>), Report> {
    let mut buffers = Vec::new();
    let mut parsed = Vec::new();
    for (position, text) in texts.iter().enumerate() {
        let source = SourceText::new(format!("--arg[{position}]"), text.as_str());
        let argument = argument::parse(&source)?;
        let argument = named(argument, &format!("arg{position}"), &source, &mut buffers);
        parsed.push((source, argument));
    }
    // Structures may point to buffers of later arguments.
    let planned = parsed
        .iter()
        .map(|(source, argument)| planned(argument, source, &buffers))
        .collect::<Result<_, _>>()?;
    Ok((buffers, planned))
}

/// An argument whose buffers have been numbered.
enum Numbered {
    Buffer(usize),
    Structure(Vec<Self>),
    Other(ArgumentSyntax),
}

fn named(
    argument: ArgumentSyntax,
    name: &str,
    source: &SourceText,
    buffers: &mut Vec<Buffer>,
) -> Numbered {
    match argument {
        ArgumentSyntax::Buffer { ty, len, init } => {
            let anchor = Anchor { source: source.clone(), range: 0..source.text.len() };
            buffers.push(Buffer { name: name.to_owned(), ty, len, init, anchor });
            Numbered::Buffer(buffers.len() - 1)
        }
        ArgumentSyntax::Structure(members) => Numbered::Structure(
            members
                .into_iter()
                .enumerate()
                .map(|(place, member)| named(member, &format!("{name}.{place}"), source, buffers))
                .collect(),
        ),
        other => Numbered::Other(other),
    }
}

fn planned(
    argument: &Numbered,
    source: &SourceText,
    buffers: &[Buffer],
) -> Result<PlannedArgument, Report> {
    Ok(match argument {
        Numbered::Buffer(index) => PlannedArgument::Buffer(*index),
        Numbered::Structure(members) => {
            let mut structure = Structure::new();
            for member in members {
                match planned(member, source, buffers)? {
                    PlannedArgument::Buffer(index) => structure.push_address(index),
                    PlannedArgument::Scalar { ty, bits } => structure.push_scalar(ty, bits),
                    PlannedArgument::Structure(inner) => structure.push(&inner),
                }
            }
            PlannedArgument::Structure(structure.finished())
        }
        Numbered::Other(ArgumentSyntax::Scalar { ty, bits }) => {
            PlannedArgument::Scalar { ty: *ty, bits: *bits }
        }
        Numbered::Other(ArgumentSyntax::Bytes(bytes)) => {
            PlannedArgument::Structure(Structure::of_bytes(bytes.clone()))
        }
        Numbered::Other(ArgumentSyntax::Pointer(name, range)) => {
            let known = || buffers.iter().map(|buffer| buffer.name.as_str());
            let index = known().position(|known| known == name).ok_or_else(|| {
                let report = source.report(range.clone(), format!("no buffer is named `{name}`"));
                match buffers.is_empty() {
                    true => report.hint("no argument is a buffer; write `buf:f32[1024]` instead"),
                    false => report.maybe_hint(suggest(name, known())),
                }
            })?;
            PlannedArgument::Buffer(index)
        }
        // Both have been numbered.
        Numbered::Other(ArgumentSyntax::Buffer { .. } | ArgumentSyntax::Structure(_)) => {
            PlannedArgument::Structure(Structure::new())
        }
    })
}
