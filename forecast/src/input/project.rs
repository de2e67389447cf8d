//! `gpucast.toml`: the kernels, GPUs and usual options of a project.
//!
//! ```toml
//! [defaults]                      # options of every command that has them
//! gpu = ["h100-sxm", "next"]
//! threads = 8
//!
//! [defaults.profile]              # options of one command
//! gpu = "h100-sxm"
//!
//! [gpus]                          # names for GPU files
//! next = "gpus/next.toml"
//!
//! [kernels.saxpy]                 # names for kernels with their launches
//! source = "src/saxpy.cu"         # a module, a container or a launch file
//! grid = [4096]
//! block = [256]
//! args = ["u32:1048576", "f32:2", "buf:f32[1048576]=iota", "buf:f32[1048576]"]
//! ```
//!
//! Paths are relative to the file's folder. Options of the command line go before the project's.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::module_text::read_text;
use super::options::{LaunchOptions, Size};
use super::toml_report::toml_report;
use super::typed::Argument;
use crate::failure::{Anchor, Report, SourceText};

/// The file's name.
pub const FILE_NAME: &str = "gpucast.toml";

/// A project file that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Project {
    /// The file.
    pub path: PathBuf,
    /// Its text, as it was read.
    pub source: SourceText,
    /// Options that stand for those that a command line leaves out. Those of one command follow
    /// those of all, and take their place.
    pub defaults: Vec<DefaultOption>,
    /// Files of GPUs by the names that the project gives them.
    pub gpus: BTreeMap<String, PathBuf>,
    kernels: BTreeMap<String, KernelTable>,
    folder: PathBuf,
}

/// An option with the value that it takes if the command line has none.
#[derive(Clone, Debug, PartialEq)]
pub struct DefaultOption {
    /// The command, or `None` for every command that has the option.
    pub command: Option<String>,
    /// The option's name without dashes at the beginning: `count-on`.
    pub option: String,
    /// Its values as on a command line.
    pub values: Vec<String>,
    /// Place of the option's name.
    pub anchor: Anchor,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    defaults: BTreeMap<Spanned<String>, Spanned<toml::Value>>,
    #[serde(default)]
    gpus: BTreeMap<String, String>,
    #[serde(default)]
    kernels: BTreeMap<Spanned<String>, KernelTable>,
}

/// `[kernels.NAME]`: the options of a launch by their names on the command line.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct KernelTable {
    source: String,
    kernel: Option<String>,
    #[serde(default, deserialize_with = "extent")]
    grid: Option<[u32; 3]>,
    #[serde(default, deserialize_with = "extent")]
    block: Option<[u32; 3]>,
    #[serde(default, deserialize_with = "extent")]
    cluster: Option<[u32; 3]>,
    shared_bytes: Option<u32>,
    #[serde(default)]
    args: Vec<String>,
    arch: Option<String>,
    #[serde(default)]
    param: BTreeMap<String, f64>,
    #[serde(default)]
    define: Vec<String>,
    #[serde(default)]
    include: Vec<PathBuf>,
    std: Option<String>,
}

/// `[x]`, `[x, y]` or `[x, y, z]`.
fn extent<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<[u32; 3]>, D::Error> {
    let given = Vec::<u32>::deserialize(deserializer)?;
    if given.is_empty() || given.len() > 3 || given.contains(&0) {
        return Err(serde::de::Error::custom("it has one to three positive numbers: [x, y, z]"));
    }
    let mut extent = [1; 3];
    extent[..given.len()].copy_from_slice(&given);
    Ok(Some(extent))
}

impl Project {
    /// The project file of a folder, or of the nearest folder above it that has one.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the file, with its place.
    pub fn find(folder: &Path) -> Result<Option<Self>, Report> {
        Self::locate(folder).map(|path| Self::read(&path)).transpose()
    }

    /// The path of the project file of a folder, or of the nearest folder above it that has one.
    pub fn locate(folder: &Path) -> Option<PathBuf> {
        let mut files = folder.ancestors().map(|folder| folder.join(FILE_NAME));
        files.find(|path| fs::metadata(path).is_ok_and(|facts| facts.is_file()))
    }

    /// Reads a project file.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the file, with its place.
    pub fn read(path: &Path) -> Result<Self, Report> {
        Self::of_text(path, read_text(path)?)
    }

    /// Reads the text of a project file that lies at `path`.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the text, with its place.
    pub fn of_text(path: &Path, source: SourceText) -> Result<Self, Report> {
        let file: File =
            toml::from_str(&source.text).map_err(|error| toml_report(&source, &error))?;
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        let mut defaults = Vec::new();
        for (name, value) in &file.defaults {
            let anchor = Anchor { source: source.clone(), range: name.span() };
            let mut add = |command: Option<&str>, option: &str, value: &toml::Value| {
                let values = words(value).ok_or_else(|| {
                    let message = format!("`{option}` is no option's value");
                    let hint = "a value is text, a number, true, or a list of texts and numbers";
                    Report::new(message).at(&anchor).hint(hint)
                })?;
                let (command, option) = (command.map(str::to_owned), option.replace('_', "-"));
                defaults.push(DefaultOption { command, option, values, anchor: anchor.clone() });
                Ok::<(), Report>(())
            };
            match value.get_ref() {
                toml::Value::Table(options) => {
                    for (option, value) in options {
                        add(Some(name.get_ref()), option, value)?;
                    }
                }
                value => add(None, name.get_ref(), value)?,
            }
        }
        // A command's own words count, whatever the alphabet says of the names.
        defaults.sort_by_key(|default| {
            default.command.as_ref().map_or(0, |command| command.split_whitespace().count())
        });
        for name in file.kernels.keys() {
            let written = name.get_ref();
            if written.contains(['.', '/', '\\', '*', '?']) || written.is_empty() {
                let message = format!("`{written}` is no name for a kernel");
                let hint = "a name has no dots, slashes and stars: a command takes these for paths \
                            and patterns";
                return Err(source.report(name.span(), message).hint(hint));
            }
        }
        let gpus = file.gpus.into_iter().map(|(name, path)| (name, folder.join(path))).collect();
        let named = |(name, table): (Spanned<String>, _)| (name.into_inner(), table);
        let kernels = file.kernels.into_iter().map(named).collect();
        Ok(Self { path: path.to_owned(), source, defaults, gpus, kernels, folder })
    }

    /// The names of the project's kernels, in alphabetical order.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.kernels.keys().map(String::as_str)
    }

    /// The file of a kernel, and its launch with the options that were given in place of the
    /// project's. `None` if the project has no such kernel.
    pub(super) fn launch(
        &self,
        name: &str,
        given: &LaunchOptions,
    ) -> Option<(String, LaunchOptions)> {
        let table = self.kernels.get(name)?;
        let mut launch = given.clone();
        launch.kernel = launch.kernel.or_else(|| table.kernel.clone());
        launch.grid = launch.grid.or(table.grid);
        launch.block = launch.block.or(table.block);
        launch.cluster = launch.cluster.or(table.cluster);
        launch.shared_bytes = launch.shared_bytes.or(table.shared_bytes);
        launch.arch = launch.arch.or_else(|| table.arch.clone());
        // A kernel of a project has one size, which `--size paper` means as well.
        launch.size = launch.size.filter(|size| *size != Size::Paper);
        if launch.arg.is_empty() {
            launch.arg = table.args.iter().cloned().map(Argument::from).collect();
        }
        let own = table.param.iter().map(|(name, value)| (name.clone(), *value));
        launch.param = own.chain(launch.param).collect();
        let includes = table.include.iter().map(|folder| self.folder.join(folder));
        launch.cuda.includes.extend(includes);
        // The last definition of a macro counts, and the command line's comes last.
        launch.cuda.defines = table.define.iter().cloned().chain(launch.cuda.defines).collect();
        launch.cuda.standard = launch.cuda.standard.or_else(|| table.std.clone());
        launch.project = None;
        Some((self.folder.join(&table.source).display().to_string(), launch))
    }
}

/// A value as the words of a command line.
fn words(value: &toml::Value) -> Option<Vec<String>> {
    let word = |value: &toml::Value| match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(true) => Some("true".to_owned()),
        toml::Value::Boolean(false)
        | toml::Value::Datetime(_)
        | toml::Value::Array(_)
        | toml::Value::Table(_) => None,
    };
    match value {
        toml::Value::Array(values) => values.iter().map(word).collect(),
        value => word(value).map(|word| vec![word]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::shown;

    fn read(text: &str) -> Result<Project, Report> {
        Project::of_text(Path::new("p/gpucast.toml"), SourceText::new("gpucast.toml", text))
    }

    #[test]
    fn a_project_names_defaults_gpus_and_kernels() {
        let project = read(
            "[defaults]\ngpu = [\"a100\", \"next\"]\nthreads = 2\ntime_limit = 60\n\
             [defaults.profile]\ngpu = \"a100\"\n[gpus]\nnext = \"gpus/next.toml\"\n\
             [kernels.saxpy]\nsource = \"saxpy.cu\"\ngrid = [8]\nblock = [64, 2]\n\
             args = [\"u32:7\"]\ndefine = [\"N=4\"]\n",
        )
        .unwrap();
        let shown: Vec<String> = project
            .defaults
            .iter()
            .map(|default| format!("{:?} {} {:?}", default.command, default.option, default.values))
            .collect();
        assert_eq!(
            shown,
            [
                "None gpu [\"a100\", \"next\"]",
                "None threads [\"2\"]",
                "None time-limit [\"60\"]",
                "Some(\"profile\") gpu [\"a100\"]",
            ]
        );
        assert_eq!(project.gpus["next"], Path::new("p/gpus/next.toml"));
        let given = LaunchOptions { grid: Some([16, 1, 1]), ..LaunchOptions::default() };
        let (source, launch) = project.launch("saxpy", &given).unwrap();
        assert_eq!(Path::new(&source), Path::new("p/saxpy.cu"));
        assert_eq!((launch.grid, launch.block), (Some([16, 1, 1]), Some([64, 2, 1])));
        assert_eq!(
            (launch.arg, launch.cuda.defines),
            (vec![Argument::notation("u32:7")], vec!["N=4".into()])
        );
        assert_eq!(project.launch("other", &given), None);
    }

    #[test]
    fn faults_are_reported_with_their_places() {
        for (text, message, marked) in [
            ("[default]\ngpu = 1\n", "there is no key `default` here", "default"),
            ("[kernels.a]\ngrid = [1]\n", "the key `source` is missing", "[kernels.a]"),
            (
                "[kernels.a]\nsource = \"x\"\ngrid = [1, 0]\n",
                "it has one to three positive numbers: [x, y, z]",
                "[1, 0]",
            ),
            ("[kernels.\"a.b\"]\nsource = \"x\"\n", "`a.b` is no name for a kernel", "\"a.b\""),
            ("[defaults]\ngpu = [[1]]\n", "`gpu` is no option's value", "gpu"),
            ("[defaults]\ntiming = false\n", "`timing` is no option's value", "timing"),
            ("[defaults\n", "", ""),
        ] {
            let report = read(text).unwrap_err();
            let anchor = report.anchor.as_ref().unwrap();
            assert!(report.message.contains(message), "{}", shown(&report));
            let there = &text[anchor.range.clone()];
            assert!(there.starts_with(marked), "{there} in {}", shown(&report));
        }
    }

    #[test]
    fn the_nearest_file_above_is_the_projects() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        fs::write(folder.path().join(FILE_NAME), "[gpus]\nx = \"x.toml\"\n").unwrap();
        let found = Project::find(&deep).unwrap().unwrap();
        assert_eq!(found.path, folder.path().join(FILE_NAME));
        assert_eq!(found.gpus["x"], folder.path().join("x.toml"));
    }
}
