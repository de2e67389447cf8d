//! The findings of `gpucast check` about files: kernels with their resources and requirements,
//! errors, and files that were left out. The field names are those of the JSON.

mod kernel;
mod machine;
mod slice;

use gpucast_ptx_frontend::Module;
use gpucast_ptx_frontend::container::Cubin;
use gpucast_ptx_frontend::source::LineIndex;
use serde::Serialize;

pub use kernel::{Cause, Kernel, Memory, Parameter, Unsupported};
pub use machine::{MachineCode, MachineFacts, MachineFile};
pub use slice::{KernelSlice, Root, SlicedInstruction, Treated};

use crate::failure::{Report, SourceText};
use crate::input::container::{Item, ItemCode};
use crate::input::{kernel_name, loaded};

/// A PTX text, alone or out of a container.
#[derive(Serialize)]
pub struct File {
    /// The path, with the entry of a container behind it.
    pub path: String,
    /// The stated `.version`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isa: Option<String>,
    /// The stated `.target`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The stated `.address_size`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_bits: Option<u8>,
    /// The kernels that it defines.
    pub kernels: Vec<Kernel>,
    /// Everything that is wrong with it.
    pub errors: Vec<Error>,
    /// The kernels of machine code that has no PTX beside it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machine_code: Vec<MachineFile>,
    /// Reason why nothing was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<&'static str>,
    /// Reports that the `text` format prints on the standard error.
    #[serde(skip)]
    pub reports: Vec<Report>,
}

/// Something wrong with the file.
#[derive(Serialize)]
pub struct Error {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl File {
    /// A file of which nothing is known yet.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            isa: None,
            target: None,
            address_bits: None,
            kernels: Vec::new(),
            errors: Vec::new(),
            machine_code: Vec::new(),
            skipped: None,
            reports: Vec::new(),
        }
    }

    /// A file with which something is wrong.
    pub fn broken(path: impl Into<String>, report: Report) -> Self {
        let mut file = Self::new(path);
        file.refuse(report);
        file
    }

    /// Returns true if nothing is wrong and every kernel can be executed.
    pub fn is_fine(&self) -> bool {
        self.errors.is_empty() && self.kernels.iter().all(|kernel| kernel.executable)
    }

    /// Adds something that is wrong with it.
    pub fn refuse(&mut self, report: Report) {
        self.errors.push(error(&report));
        self.reports.push(report);
    }
}

/// The kernels of a file to look at, and what to say of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// Names, parts or patterns of the kernels; all of them if absent.
    pub kernels: Option<&'a str>,
    /// True if the slices of kernels are shown.
    pub slices: bool,
}

/// Looks at an entry of a container. `None` if `wanted` means none of its kernels.
pub fn item(item: Item, wanted: Wanted<'_>) -> Option<File> {
    let mut cubins = Vec::new();
    let mut damaged = Vec::new();
    for cubin in item.machine_code {
        match cubin {
            Ok(cubin) => cubins.push(cubin),
            Err(report) => damaged.push(report),
        }
    }
    let mut file = match item.code {
        ItemCode::Ptx(Ok(source)) if has_only_data(&source) => {
            wanted.kernels.is_none().then(|| File::new(item.name))
        }
        ItemCode::Ptx(Ok(source)) => text(item.name, &source, &cubins, wanted),
        ItemCode::Ptx(Err(report)) => Some(File::broken(item.name, report)),
        ItemCode::LtoIr => wanted.kernels.is_none().then(|| File {
            skipped: Some("encrypted compiler code that only nvJitLink reads"),
            ..File::new(item.name)
        }),
        ItemCode::Machine(report) => Some(File {
            machine_code: cubins.iter().map(MachineFile::of).collect(),
            ..File::broken(item.name, report)
        }),
    }?;
    damaged.into_iter().for_each(|report| file.refuse(report));
    Some(file)
}

/// Looks at a text. `None` if `wanted` means none of its kernels.
pub fn text(
    path: String,
    source: &SourceText,
    cubins: &[Cubin],
    wanted: Wanted<'_>,
) -> Option<File> {
    let chosen = match wanted.kernels {
        // Found without parsing: large libraries have thousands of kernels.
        Some(wanted) => match kernel_name::meant(wanted, &kernel_name::kernels(&source.text)) {
            none if none.is_empty() => return None,
            some => Some(some),
        },
        None => None,
    };
    let mut file = File::new(path);
    match loaded::load(source) {
        Err(reports) => {
            file.errors = reports.iter().map(error).collect();
            file.reports = reports;
        }
        Ok(loaded) => {
            let Module { isa_version: (major, minor), target, address_bits, .. } = &loaded.module;
            file.isa = Some(format!("{major}.{minor}"));
            file.target = Some(target.clone());
            file.address_bits = Some(*address_bits);
            let inspector = kernel::Inspector::new(&loaded, cubins);
            for id in inspector.kernels() {
                let name = &loaded.module.functions[id.index()].name;
                if chosen.as_ref().is_some_and(|chosen| !chosen.contains(&name.as_str())) {
                    continue;
                }
                file.kernels.push(inspector.kernel(id, wanted.slices));
            }
        }
    }
    Some(file)
}

/// nvcc embeds PTX for every translation unit, those without device code included: no kernel is
/// an error of a file that was written for kernels, and none of such an entry.
fn has_only_data(text: &SourceText) -> bool {
    let has_functions = [".entry", ".func"].iter().any(|word| text.text.contains(word));
    // Without functions, a report about the text as a whole says just that.
    !has_functions
        && text.text.contains(".version")
        && loaded::load(text).is_err_and(|reports| {
            let about_all = |report: &Report| {
                report.anchor.as_ref().is_some_and(|anchor| anchor.range == (0..0))
            };
            reports.iter().all(about_all)
        })
}

fn error(report: &Report) -> Error {
    let position = report.anchor.as_ref().map(|anchor| {
        let text = &anchor.source.text;
        LineIndex::new(text).position(text, anchor.range.start as u32)
    });
    Error {
        line: position.map(|position| position.line),
        column: position.map(|position| position.column),
        message: report.message.clone(),
        hint: report.hint.clone(),
    }
}
