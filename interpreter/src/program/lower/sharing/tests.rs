use std::path::Path;

use super::*;
use crate::program::Program;

/// May a load that decides read what the kernel writes, if each pointer among the parameters leads
/// to a buffer of its own?
fn needs_a_watch(program: &Program) -> bool {
    let sharing = &program.sharing;
    // Addresses are made of numbers too, such as the length of a row.
    let is_number = |index: usize| {
        let variable = sharing.variables[index];
        program
            .parameters
            .iter()
            .any(|parameter| parameter.variable == variable && parameter.bytes < 8)
    };
    let overlap = |load: &Load, write: &Write| {
        let (read, written) = (load.roots, write.roots);
        let common = |index| !is_number(index) && written.variables().any(|other| other == index);
        read.may_be_anything() || written.may_be_anything() || read.variables().any(common)
    };
    let decides = |load: &&Load| load.decides == Decides::Directly;
    let overlaps = |load: &Load| sharing.writes.iter().any(|write| overlap(load, write));
    sharing.loads.iter().filter(decides).any(overlaps)
}

/// The PTX files below a folder.
fn modules(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            modules(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "ptx") {
            found.push(path);
        }
    }
}

#[test]
fn kernels_whose_data_say_where_but_not_whether_are_not_watched() {
    let corpus = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../corpus/kernels"));
    let mut files = Vec::new();
    modules(corpus, &mut files);
    let mut watched = Vec::new();
    let mut kernels = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let module = gpucast_ptx_frontend::load(&text).unwrap();
        for kernel in Program::kernels(&module) {
            let program = Program::new(&module, &text, kernel).unwrap();
            kernels += 1;
            if needs_a_watch(&program) {
                let file = file.strip_prefix(corpus).unwrap().display();
                watched.push(format!("{file}: {kernel}"));
            }
        }
    }
    assert!(kernels > 50, "{kernels}");
    // These write a sum to where they have read it from, if it has a certain value.
    watched.retain(|kernel| !kernel.starts_with("mixbench/"));
    assert_eq!(watched, [""; 0]);
}
