//! The CUDA files that a module's `.loc` directives name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gpucast_ptx_frontend::Module;

use super::plan::Plan;

/// A longer file is nobody's source.
const LONGEST: u64 = 16 << 20;

/// A file of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaFile {
    /// Its name as the module has it.
    pub name: String,
    /// Its lines, if it was found.
    pub lines: Option<Vec<String>>,
}

/// The files of a module by their index.
///
/// A file is looked for beside the module, where its name says, and, if the module is one of the
/// corpus, there.
pub fn files(plan: &Plan, module: &Module) -> BTreeMap<u32, CudaFile> {
    let beside = Path::new(&*plan.module.name).parent().map(Path::to_owned);
    // The name of a corpus kernel's module is `corpus/NAME/FILE`.
    let corpus = plan.module.name.strip_prefix("corpus/").and_then(|rest| rest.split('/').next());
    let corpus = corpus.and_then(gpucast_corpus::find);
    let file = |(index, name): &(u32, String)| {
        let path = Path::new(name);
        let from_corpus = || {
            let is_source = path.file_name().is_some_and(|file| file == "kernel.cu");
            corpus.filter(|_| is_source).map(|entry| lines(entry.source))
        };
        let lines = read(path, beside.as_deref()).or_else(from_corpus);
        (*index, CudaFile { name: name.clone(), lines })
    };
    module.files.iter().map(file).collect()
}

fn read(path: &Path, beside: Option<&Path>) -> Option<Vec<String>> {
    let candidates: Vec<PathBuf> = [
        beside.map(|folder| folder.join(path)),
        beside.and_then(|folder| Some(folder.join(path.file_name()?))),
        Some(path.to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect();
    candidates.iter().find_map(|path| {
        let metadata = std::fs::metadata(path).ok()?;
        let is_text = metadata.is_file() && metadata.len() <= LONGEST;
        let text = is_text.then(|| std::fs::read_to_string(path).ok()).flatten()?;
        Some(lines(&text))
    })
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(printable).collect()
}

/// A line as a terminal can show it: tabs are four columns, other control characters are replaced.
pub fn printable(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut column = 0;
    for character in line.trim_end().chars() {
        match character {
            '\t' => {
                let width = 4 - column % 4;
                text.extend(std::iter::repeat_n(' ', width));
                column += width;
            }
            other => {
                text.push(if other.is_control() { char::REPLACEMENT_CHARACTER } else { other });
                column += 1;
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_cannot_disturb_the_terminal() {
        assert_eq!(printable("\ta\tb \u{1b}[2J\r\n"), "    a   b \u{fffd}[2J");
    }
}
