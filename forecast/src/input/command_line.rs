//! A module's launch from the command line: where its parts stand, and its arguments, whose buffers
//! get names and indices.

use super::argument::{self, ArgumentSyntax};
use super::options::LaunchOptions;
use super::plan::{Buffer, LaunchPlaces, PlannedArgument, Pointer, PointerError};
use super::structure::Structure;
use super::typed::{Argument, Given};
use crate::failure::{Anchor, Report, SourceText, suggest};

/// Reads every `--arg`. A buffer is named after its argument, `arg0`, `arg1`, …; in a structure
/// with its place behind it, `arg1.0`.
pub(super) fn arguments(given: &[Argument]) -> Result<(Vec<Buffer>, Vec<PlannedArgument>), Report> {
    let mut buffers = Vec::new();
    let mut parsed = Vec::new();
    for (position, argument) in given.iter().enumerate() {
        let source = SourceText::new(format!("--arg[{position}]"), argument.to_string());
        let argument = match &argument.0 {
            Given::Notation(_) => argument::parse(&source)?,
            Given::Value(value) => argument::checked(value.clone(), &source)?,
        };
        let argument = named(argument, &format!("arg{position}"), &source, &mut buffers);
        parsed.push((source, argument));
    }
    // Pointers may go to buffers of later arguments.
    let planned = parsed
        .iter()
        .map(|(source, argument)| planned(argument, source, &buffers))
        .collect::<Result<_, _>>()?;
    Ok((buffers, planned))
}

/// Renders the options of a launch as one text that reports can point into. Returns the places of
/// the kernel's name and of the rest.
pub(super) fn places(
    kernel: &str,
    grid: [u32; 3],
    block: [u32; 3],
    options: &LaunchOptions,
) -> (Anchor, LaunchPlaces) {
    let shape = |[x, y, z]: [u32; 3]| format!("{x},{y},{z}");
    let mut text = String::new();
    let mut add = |before: &str, option: &str, value: &str| {
        text.push_str(before);
        let start = text.len();
        text.push_str(option);
        text.push(' ');
        let value_start = text.len();
        text.push_str(value);
        (start..text.len(), value_start..text.len())
    };
    let (_, kernel) = add("", "--kernel", kernel);
    let (grid, _) = add(" ", "--grid", &shape(grid));
    let (block, _) = add(" ", "--block", &shape(block));
    let cluster = options.cluster.map(|cluster| add(" ", "--cluster", &shape(cluster)).0);
    let shared_bytes = options.shared_bytes.map(|bytes| bytes.to_string());
    let shared_bytes = shared_bytes.map(|bytes| add(" ", "--shared-bytes", &bytes).0);
    // Arguments can be long; each has a line.
    let arguments = options.arg.iter().map(|argument| add("\n", "--arg", &argument.to_string()).0);
    let arguments: Vec<_> = arguments.collect();
    let launch = grid.start..text.find('\n').unwrap_or(text.len());
    let source = SourceText::new("command line", text);
    let anchor = |range| Anchor { source: source.clone(), range };
    let places = LaunchPlaces {
        launch: anchor(launch),
        grid: anchor(grid),
        block: anchor(block),
        cluster: cluster.map(anchor),
        shared_bytes: shared_bytes.map(anchor),
        arguments: arguments.into_iter().map(anchor).collect(),
    };
    (anchor(kernel), places)
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
            buffers.push(Buffer {
                name: name.to_owned(),
                ty,
                len,
                init,
                pointers: Vec::new(),
                anchor,
            });
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
        Numbered::Buffer(index) => PlannedArgument::Pointer(Pointer::to(*index)),
        Numbered::Structure(members) => {
            let mut structure = Structure::new();
            for member in members {
                match planned(member, source, buffers)? {
                    PlannedArgument::Pointer(pointer) => structure.push_pointer(pointer),
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
            let pointer = Pointer::read(name, buffers).map_err(|error| match error {
                PointerError::Offset(message) => source.report(range.clone(), message),
                PointerError::Unknown(name) => {
                    let message = format!("no buffer is named `{name}`");
                    let report = source.report(range.clone(), message);
                    match buffers.is_empty() {
                        true => {
                            report.hint("no argument is a buffer; write `buf:f32[1024]` instead")
                        }
                        false => report.maybe_hint(suggest(&name, known())),
                    }
                }
            })?;
            PlannedArgument::Pointer(pointer)
        }
        // Both have been numbered.
        Numbered::Other(ArgumentSyntax::Buffer { .. } | ArgumentSyntax::Structure(_)) => {
            PlannedArgument::Structure(Structure::new())
        }
    })
}
