use std::path::Path;

use super::*;
use crate::program::Program;

/// Whether some load that decides may read what the kernel writes, if each parameter leads to a
/// buffer of its own.
fn needs_a_watch(sharing: &Sharing) -> bool {
    let overlap = |load: &Load, write: &Write| {
        let (read, written) = (load.roots, write.roots);
        let common = |index| written.variables().any(|other| other == index);
        read.may_be_anything() || written.may_be_anything() || read.variables().any(common)
    };
    let decides = sharing.loads.iter().filter(|load| load.decides == Decides::Directly);
    decides.into_iter().any(|load| sharing.writes.iter().any(|write| overlap(load, write)))
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
            if needs_a_watch(&program.sharing) {
                let file = file.strip_prefix(corpus).unwrap().display();
                watched.push(format!("{file}: {kernel}"));
            }
        }
    }
    assert!(kernels > 50, "{kernels}");
    assert_eq!(watched, [""; 0]);
}
