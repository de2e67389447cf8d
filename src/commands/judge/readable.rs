//! The files that a judgement reads: a confined process may open no others of the user.

use std::path::{Path, PathBuf};

use gpucast_forecast::input::kernel_argument;
use gpucast_toolchain::compiler::Choice;

use super::judging;
use crate::cli::judge::Judge;

/// The files and folders of both kernels.
pub(super) fn readable(arguments: &Judge) -> Vec<PathBuf> {
    let (candidate, reference) = (judging::candidate(arguments), judging::reference(arguments));
    let mut all = Vec::new();
    for side in [Some(&candidate), reference.as_ref()].into_iter().flatten() {
        for file in kernel_argument::files(&side.input, &side.template.options) {
            all.extend(folder_of(&file));
            all.push(file);
        }
        all.extend(side.template.options.cuda.includes.iter().cloned());
    }
    all.extend(arguments.expect.iter().map(|expected| expected.file.clone()));
    all.extend(arguments.source_root.clone());
    all.extend(arguments.gpu.as_ref().map(PathBuf::from));
    all.extend(arguments.machine.ptxas.clone());
    if let Some(Choice::Path(compiler)) = &arguments.launch.cuda.cuda_compiler {
        all.push(compiler.clone());
    }
    all
}

/// The folder of a file, in which headers may be; not one that holds everything else of a user.
fn folder_of(file: &Path) -> Option<PathBuf> {
    let folder = match file.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        folder => folder?,
    };
    let folder = folder.canonicalize().ok()?;
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let is_everything = |folder: &Path| {
        folder.parent().is_none()
            || home.as_ref().is_some_and(|home| home.starts_with(folder))
            || folder == std::env::temp_dir()
            || folder == Path::new("/tmp")
    };
    (!is_everything(&folder)).then_some(folder)
}
