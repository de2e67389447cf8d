//! Modules inside fatbins, host files and archives: the choice of the PTX, and its name.

use gpucast_ptx_frontend::container::{
    self, ContainerError, Contents, Cubin, Entry, EntryKind, Reason, SelectError, Selection, Target,
};

use super::kernel_name;
use crate::failure::{Anchor, Failure, Report, SourceText};

/// The PTX that was chosen.
pub struct Chosen {
    /// The PTX text.
    pub module: SourceText,
    /// The mangled name of the kernel.
    pub kernel: String,
    /// Names the chosen PTX with the reason, if there was a choice. Also names what was damaged
    /// beside it.
    pub note: Option<String>,
    /// The architecture of the PTX.
    pub target: Option<Target>,
    /// The machine code of the same module.
    pub cubins: Vec<Cubin>,
}

/// One piece of device code that can be looked at on its own.
pub struct Item {
    /// The file's name with the entry's behind it.
    pub name: String,
    /// The code.
    pub code: ItemCode,
    /// The machine code of the same module, and the parts of it that could not be read.
    pub machine_code: Vec<Result<Cubin, Report>>,
}

/// The code of an entry.
pub enum ItemCode {
    /// PTX, or why it cannot be read.
    Ptx(Result<SourceText, Report>),
    /// Code that nothing but NVIDIA's linker reads.
    LtoIr,
    /// Machine code alone, with advice on what to do.
    Machine(Report),
}

/// Reads the architecture that `--arch` gives for a container.
pub fn target(arch: Option<&str>) -> Result<Option<Target>, Failure> {
    arch.map(str::parse::<Target>)
        .transpose()
        .map_err(|error| Failure::Usage(Report::new(format!("--arch: {error}"))))
}

/// Chooses the PTX that has the kernel.
pub fn choose(
    file: &str,
    bytes: &[u8],
    target: Option<Target>,
    kernel: &str,
    anchor: &Anchor,
) -> Result<Chosen, Report> {
    let contents = container::open(bytes).map_err(|error| damaged(file, &error))?;
    let selected = |kernel: &str| container::best_ptx_with_kernel(&contents, target, kernel);
    let (kernel, selection) = match selected(kernel) {
        Ok(selection) => (kernel.to_owned(), selection),
        Err(SelectError::NoKernel { .. }) => {
            let texts = container::best_ptx_of_each_module(&contents, target)
                .map_err(|error| refused(file, &error))?
                .iter()
                .map(|selection| selection.entry.ptx_text())
                .collect::<Result<Vec<_>, _>>()
                .map_err(|error| damaged(file, &error))?;
            let known: Vec<&str> =
                texts.iter().flat_map(|text| kernel_name::kernels(text)).collect();
            let Some(found) = kernel_name::find(kernel, &known, file, anchor)? else {
                return Err(kernel_name::unknown(kernel, &known, file, anchor));
            };
            (found.to_owned(), selected(found).map_err(|error| refused(file, &error))?)
        }
        Err(error) => return Err(refused(file, &error)),
    };
    let name = entry_name(file, &contents, selection.entry);
    let text = selection.entry.ptx_text().map_err(|error| damaged(&name, &error))?;
    let note = why(&contents, &selection, target, &kernel).map(|why| format!("{name}: {why}"));
    let mut notes: Vec<String> = note.into_iter().collect();
    let mut cubins = Vec::new();
    for entry in contents.cubins().filter(|entry| entry.module == selection.entry.module) {
        match entry.cubin() {
            Ok(cubin) => cubins.push(cubin),
            // The kernel runs without it.
            Err(error) => {
                notes.push(format!("{}: {error}", entry_name(file, &contents, entry)));
            }
        }
    }
    Ok(Chosen {
        target: selection.entry.target,
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        module: SourceText::new(name, text),
        kernel,
        cubins,
    })
}

/// Hands everything in a file that `check` looks at to `look`, in the file's order. One at a time:
/// the texts of a large library together would fill the memory.
pub fn for_each_item(file: &str, bytes: &[u8], mut look: impl FnMut(Item)) -> Result<(), Report> {
    let contents = container::open(bytes).map_err(|error| damaged(file, &error))?;
    let cubin = |entry: &Entry<'_>| {
        entry.cubin().map_err(|error| damaged(&entry_name(file, &contents, entry), &error))
    };
    if let Err(error) = container::best_ptx(&contents, None) {
        let report = refused(file, &error);
        let machine_code: Vec<_> = contents.cubins().map(cubin).collect();
        if machine_code.is_empty() {
            return Err(report);
        }
        look(Item { name: file.to_owned(), code: ItemCode::Machine(report), machine_code });
        return Ok(());
    }
    for entry in &contents.entries {
        let name = entry_name(file, &contents, entry);
        let code = match entry.kind {
            EntryKind::Ptx => ItemCode::Ptx(match entry.ptx_text() {
                Ok(text) => Ok(SourceText::new(name.as_str(), text)),
                Err(error) => Err(damaged(&name, &error)),
            }),
            EntryKind::LtoIr => ItemCode::LtoIr,
            EntryKind::Cubin | EntryKind::Other(_) => continue,
        };
        let machine_code = match entry.kind {
            EntryKind::Ptx => {
                contents.cubins().filter(|other| other.module == entry.module).map(cubin).collect()
            }
            _ => Vec::new(),
        };
        look(Item { name, code, machine_code });
    }
    Ok(())
}

/// `libfoo.so (PTX 3, sm_80)`: the number is that of `cuobjdump -all -xptx all`.
fn entry_name(file: &str, contents: &Contents<'_>, entry: &Entry<'_>) -> String {
    let number = contents
        .entries
        .iter()
        .filter(|other| other.kind == entry.kind)
        .position(|other| std::ptr::eq(other, entry))
        .map_or(0, |index| index + 1);
    let target = entry.target.map_or(String::new(), |target| format!(", {target}"));
    format!("{file} ({} {number}{target})", entry.kind)
}

/// Returns the reason for this PTX, if there was another.
fn why(
    contents: &Contents<'_>,
    selection: &Selection<'_, '_>,
    target: Option<Target>,
    kernel: &str,
) -> Option<String> {
    let several_modules = contents.ptx().any(|entry| entry.module != selection.entry.module);
    let as_asked = target.is_none() || selection.entry.target == target;
    match (selection.reason, several_modules) {
        (Reason::Only, false) if as_asked => None,
        (_, false) => Some(selection.to_string()),
        (Reason::Only, true) if as_asked => Some(format!("the first PTX that has kernel {kernel}")),
        // "the only PTX in the file" would be wrong of one module's.
        (Reason::Only, true) => {
            Some(format!("the first PTX that has kernel {kernel}; it has no other architecture"))
        }
        (_, true) => Some(format!("{selection} in the first module that has kernel {kernel}")),
    }
}

fn damaged(name: &str, error: &ContainerError) -> Report {
    Report::new(format!("{name}: {error}")).maybe_hint(error.hint())
}

/// The library's explanation has several sentences: the first names the fault, the others give
/// advice.
fn refused(name: &str, error: &SelectError) -> Report {
    if let SelectError::Container(error) = error {
        return damaged(name, error);
    }
    let text = error.to_string();
    match text.split_once(". ") {
        Some((message, hint)) => Report::new(format!("{name}: {message}")).hint(hint),
        None => Report::new(format!("{name}: {text}")),
    }
}
