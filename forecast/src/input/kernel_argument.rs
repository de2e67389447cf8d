//! The KERNEL of a command: a corpus name, a launch file, or a module with a launch in options.

use std::path::{Path, PathBuf};

use gpucast_corpus::Entry;
use wildmatch::WildMatch;

use super::command_line;
use super::cuda_module::{self, no_choice};
use super::expression::{self, Parameters};
use super::module_listing::Unlaunched;
use super::module_text::{Contents, ModuleFile};
use super::options::{LaunchOptions, Size};
use super::plan::{Plan, PlannedLaunch};
use super::project::Project;
use super::{container, cuda_source, kernel_name, launch_file, module_text, resolve};
use crate::compiler::CudaOptions;
use crate::failure::{Anchor, Failure, Report, SourceText, suggest};

/// Reason why an argument gives no launches.
#[derive(Debug, thiserror::Error)]
pub enum ReadFailure {
    /// Something is wrong with it.
    #[error(transparent)]
    Failure(#[from] Failure),
    /// It is a module whose launch is not known.
    #[error("{}", .0.report())]
    Unlaunched(Box<Unlaunched>),
}

impl From<ReadFailure> for Failure {
    fn from(failure: ReadFailure) -> Self {
        match failure {
            ReadFailure::Failure(failure) => failure,
            ReadFailure::Unlaunched(module) => Self::Usage(module.report()),
        }
    }
}

impl From<Report> for ReadFailure {
    fn from(report: Report) -> Self {
        Self::Failure(report.into())
    }
}

/// Determines the kind of the argument KERNEL and reads it.
///
/// # Errors
///
/// Returns everything that is wrong with the argument, its files or the launch, and a module whose
/// launch is not known.
pub fn read(input: &str, options: &LaunchOptions) -> Result<Plan, ReadFailure> {
    let project = options.project.as_deref();
    if let Some((source, launch)) = project.and_then(|project| project.launch(input, options)) {
        return read(&source, &launch);
    }
    let path = Path::new(input);
    let is_launch_file = path.extension().is_some_and(|extension| extension == "toml");
    if let Some(entry) = gpucast_corpus::find(input) {
        refuse_launch_options(options, &format!("the corpus kernel {input} has a launch file"))?;
        return Ok(from_corpus(entry, options)?);
    }
    if !is_launch_file && let Some((name, _)) = options.param.first() {
        let message =
            format!("--param {name} sets a parameter of a launch file, and {input} is none");
        return Err(Failure::Usage(Report::new(message)).into());
    }
    if options.size.is_some() {
        return Err(no_choice("--size", input).into());
    }
    if is_launch_file {
        refuse_launch_options(options, &format!("{input} is a launch file"))?;
        return Ok(from_launch_file(path, options)?);
    }
    // A word without a dot or slash was meant to be a corpus name.
    if !path.exists() && !input.contains(['.', '/', '\\']) {
        return Err(unknown_kernel(input, project).into());
    }
    from_module(path, options)
}

/// The parameters that a KERNEL declares, with their usual values: those of its launch file. `None`
/// for a module, which has none.
///
/// # Errors
///
/// If the launch file cannot be read.
pub fn parameters(input: &str, options: &LaunchOptions) -> Result<Option<Parameters>, Failure> {
    if let Some((source, launch)) =
        options.project.as_deref().and_then(|p| p.launch(input, options))
    {
        return parameters(&source, &launch);
    }
    let declared = |text: &SourceText| launch_file::parameters(text, &[]);
    if let Some(entry) = gpucast_corpus::find(input) {
        let text = SourceText::new(entry.name, entry.launch);
        return Ok(Some(declared(&text)?));
    }
    let path = Path::new(input);
    match path.extension().is_some_and(|extension| extension == "toml") {
        true => Ok(Some(declared(&module_text::read_text(path)?)?)),
        false => Ok(None),
    }
}

/// The files that a KERNEL is read from: itself, and what its launch file names. Files that are not
/// there are among them.
#[must_use]
pub fn files(input: &str, options: &LaunchOptions) -> Vec<PathBuf> {
    let project = options.project.as_deref();
    if let Some((source, launch)) = project.and_then(|project| project.launch(input, options)) {
        return files(&source, &launch);
    }
    if gpucast_corpus::find(input).is_some() {
        return Vec::new();
    }
    let path = PathBuf::from(input);
    let mut all = vec![path.clone()];
    if path.extension().is_some_and(|extension| extension == "toml")
        && let Ok(source) = module_text::read_text(&path)
        && let Ok(table) = toml::from_str::<toml::Table>(&source.text)
    {
        let folder = path.parent().unwrap_or(Path::new(""));
        all.extend(file_names(&table).into_iter().map(|name| folder.join(name)));
    }
    all
}

/// The values of `module` and `file` in a table and in those below it.
fn file_names(table: &toml::Table) -> Vec<&str> {
    fn inside<'t>(name: &str, value: &'t toml::Value) -> Vec<&'t str> {
        match value {
            toml::Value::String(text) if name == "module" || name == "file" => vec![text],
            toml::Value::Table(table) => file_names(table),
            toml::Value::Array(values) => {
                values.iter().flat_map(|value| inside(name, value)).collect()
            }
            _ => Vec::new(),
        }
    }
    table.iter().flat_map(|(name, value)| inside(name, value)).collect()
}

/// The word for every kernel of the corpus.
const ALL: &str = "all";

/// The kernels of a list of arguments, in its order and each once. A pattern with `*` or `?` stands
/// for the project's and the corpus's kernels whose names fit it, and `all` for the corpus.
///
/// # Errors
///
/// A pattern that fits nothing.
pub fn expanded(arguments: &[String], project: Option<&Project>) -> Result<Vec<String>, Report> {
    let mut names: Vec<String> = Vec::new();
    for argument in arguments {
        let corpus = gpucast_corpus::entries().iter().map(|entry| entry.name);
        // A file may have a star in its name.
        let is_pattern = argument.contains(['*', '?']) && !Path::new(argument).exists();
        let meant: Vec<String> = if argument == ALL {
            corpus.map(str::to_owned).collect()
        } else if is_pattern {
            let pattern = WildMatch::new(argument);
            let own = project.into_iter().flat_map(Project::kernels);
            own.chain(corpus).filter(|name| pattern.matches(name)).map(str::to_owned).collect()
        } else {
            vec![argument.clone()]
        };
        if meant.is_empty() {
            let report = Report::new(format!("no kernel's name fits `{argument}`"));
            return Err(report.hint(
                "`gpucast corpus list` shows the corpus kernels; --kernel takes patterns for those \
                 of a module",
            ));
        }
        for name in meant {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    Ok(names)
}

/// A plan of a launch file and its module that are texts already. Files of buffers are looked for
/// in `folder`.
///
/// # Errors
///
/// Returns the faults of the launch file; the module is not parsed.
pub fn of_texts(
    launch: SourceText,
    module: SourceText,
    folder: &Path,
    parameters: &[(String, f64)],
) -> Result<Plan, Report> {
    let parameters = launch_file::parameters(&launch, parameters)?;
    let launch = launch_file::with_parameters(launch, &parameters)?;
    let file = launch_file::parse(&launch)?;
    resolve::resolve(&launch, file, module, folder.to_owned(), None)
}

/// A complaint about a name that the corpus does not have.
pub fn unknown_corpus_kernel(name: &str) -> Report {
    unknown_kernel(name, None)
}

fn unknown_kernel(name: &str, project: Option<&Project>) -> Report {
    let own = project.into_iter().flat_map(Project::kernels);
    let known = own.chain(gpucast_corpus::entries().iter().map(|entry| entry.name));
    Report::new(format!("there is no corpus kernel and no file named `{name}`")).hint(
        suggest(name, known)
            .unwrap_or_else(|| "`gpucast corpus list` shows the corpus kernels".to_owned()),
    )
}

/// The launch options are for modules; anything else states its own launch.
fn refuse_launch_options(options: &LaunchOptions, because: &str) -> Result<(), Failure> {
    match options.first_of_module() {
        Some(option) => Err(Failure::Usage(
            Report::new(format!("{option} cannot be used here: {because} that states the launch"))
                .hint("give a PTX module instead of it, or change a copy of the launch file"),
        )),
        None => Ok(()),
    }
}

fn from_corpus(entry: &'static Entry, options: &LaunchOptions) -> Result<Plan, Failure> {
    let (text, file_name) = match options.size {
        None | Some(Size::Paper) => (entry.launch, "launch.toml"),
        Some(Size::Small) => (entry.launch_small, "launch-small.toml"),
    };
    let source = SourceText::new(format!("corpus/{}/{file_name}", entry.name), text);
    let parameters = launch_file::parameters(&source, &options.param)?;
    let source = launch_file::with_parameters(source, &parameters)?;
    let file = launch_file::parse(&source)?;
    let wanted = options.arch.as_deref().unwrap_or(file.module.get_ref());
    let Some(module) = entry.module(wanted) else {
        let targets = entry.modules.iter().map(|module| module.target);
        return Err(Report::new(format!("{} has no PTX for `{wanted}`", entry.name))
            .maybe_hint(suggest(wanted, targets))
            .into());
    };
    let text = SourceText::new(format!("corpus/{}/{}", entry.name, module.file), module.ptx());
    // Published counts and times are those of the full size and of the usual parameters.
    let is_usual = options.size != Some(Size::Small) && options.param.is_empty();
    let published = is_usual.then_some(entry.name);
    of_launches(resolve::resolve(&source, file, text, PathBuf::new(), published)?, options)
}

/// Returns a launch file's plan with the kernels that its names mean, and with the options'
/// changes.
fn of_launches(mut plan: Plan, options: &LaunchOptions) -> Result<Plan, Failure> {
    let known = kernel_name::kernels(&plan.module.text);
    for launch in &mut plan.launches {
        let anchor = &launch.kernel_anchor;
        let found = kernel_name::find(&launch.kernel, &known, &plan.module.name, anchor)?;
        // An unknown name is left for the interpreter, which knows all kernels.
        if let Some(found) = found {
            launch.kernel = found.to_owned();
        }
    }
    plan.load_caching = options.dlcm.or(plan.load_caching);
    plan.l2 = options.l2.unwrap_or(plan.l2);
    if let Some(wanted) = &options.kernel {
        select(&mut plan, wanted)?;
    }
    Ok(plan)
}

/// Leaves the launches of the kernels that `wanted` means.
fn select(plan: &mut Plan, wanted: &str) -> Result<(), Failure> {
    let kernels: Vec<String> = plan.launches.iter().map(|launch| launch.kernel.clone()).collect();
    let known: Vec<&str> = kernels.iter().map(String::as_str).collect();
    let meant = kernel_name::meant(wanted, &known);
    if meant.is_empty() {
        let report = Report::new(format!("no launch is of a kernel `{wanted}`"));
        return Err(Failure::Usage(report.maybe_hint(suggest(wanted, known))));
    }
    let all = plan.launches.len();
    plan.launches.retain(|launch| meant.contains(&launch.kernel.as_str()));
    if plan.launches.len() < all && !plan.expectations.is_empty() {
        // They describe the memory after all launches together.
        plan.expectations.clear();
        let note = "expectations are of all launches, and --kernel leaves some out";
        plan.note = Some(match plan.note.take() {
            Some(other) => format!("{other}; {note}"),
            None => note.to_owned(),
        });
    }
    Ok(())
}

/// PTX with the values of a launch file's parameters in the place of each `${expression}`. PTX
/// itself has no such characters.
fn filled(module: SourceText, parameters: &Parameters) -> Result<SourceText, Report> {
    if parameters.is_empty() || !module.text.contains("${") {
        return Ok(module);
    }
    let text = expression::substitute(&module, parameters, false)?;
    Ok(SourceText { name: module.name, text: text.into() })
}

fn from_launch_file(path: &Path, options: &LaunchOptions) -> Result<Plan, Failure> {
    let source = module_text::read_text(path)?;
    let parameters = launch_file::parameters(&source, &options.param)?;
    let source = launch_file::with_parameters(source, &parameters)?;
    let file = launch_file::parse(&source)?;
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let module_path = match Path::new(file.module.get_ref()) {
        whole if whole.is_absolute() => cuda_source::seen_from_here(whole),
        path => folder.join(path),
    };
    let anchor = Anchor { source: source.clone(), range: file.module.span() };
    let anchored =
        |report: Report| if report.anchor.is_none() { report.at(&anchor) } else { report };
    let mut cubins = Vec::new();
    let mut asked = None;
    let code = cuda_module::code(module_text::read(&module_path).map_err(anchored)?, options)?;
    let (module, note) = match code.file {
        ModuleFile::Text(module) => (filled(module, &parameters)?, code.note),
        ModuleFile::Container { name, bytes } => {
            let target = container::target(options.arch.as_deref())?;
            // All launches are of one module; without a launch `resolve` complains.
            match file.launch.first().map(|launch| &launch.get_ref().kernel) {
                None => (SourceText::new(name, ""), None),
                Some(kernel) => {
                    let place = Anchor { source: source.clone(), range: kernel.span() };
                    let chosen = container::choose(&name, &bytes, target, kernel.get_ref(), &place)
                        .map_err(anchored)?;
                    (cubins, asked) = (chosen.cubins, target.or(chosen.target));
                    (chosen.module, chosen.note)
                }
            }
        }
    };
    let plan = resolve::resolve(&source, file, module, folder, None)?;
    of_launches(Plan { note, cubins, target: asked, ..plan }, options)
}

fn from_module(path: &Path, options: &LaunchOptions) -> Result<Plan, ReadFailure> {
    of_module(path, module_text::read(path)?, options)
}

/// The plan of a PTX text that is called `name`.
///
/// # Errors
///
/// Returns the faults of the launch, and the module if its launch is not known.
pub fn of_text(name: &Path, text: &str, options: &LaunchOptions) -> Result<Plan, ReadFailure> {
    let source = SourceText::new(name.display().to_string(), text);
    of_module(name, Contents::Code(ModuleFile::Text(source)), options)
}

/// The plan of a module that has been read, with a whole launch.
pub(crate) fn of_file(
    path: &Path,
    file: &ModuleFile,
    options: &LaunchOptions,
) -> Result<Plan, Failure> {
    // The file is compiled already.
    let arch = match file {
        ModuleFile::Text(_) => None,
        ModuleFile::Container { .. } => options.arch.clone(),
    };
    let options = LaunchOptions { cuda: CudaOptions::default(), arch, ..options.clone() };
    Ok(of_module(path, Contents::Code(file.clone()), &options)?)
}

/// The kernel of a text that defines one.
fn only_kernel(ptx: &str) -> Option<String> {
    match kernel_name::kernels(ptx)[..] {
        [only] => Some(only.to_owned()),
        _ => None,
    }
}

fn of_module(path: &Path, file: Contents, options: &LaunchOptions) -> Result<Plan, ReadFailure> {
    let source = match &file {
        Contents::Cuda(source) => Some(source.clone()),
        Contents::Code(_) => None,
    };
    let code = cuda_module::code(file, options)?;
    let only = match &code.file {
        ModuleFile::Text(source) if options.kernel.is_none() => only_kernel(&source.text),
        ModuleFile::Text(_) | ModuleFile::Container { .. } => None,
    };
    let kernel = options.kernel.as_deref().or(only.as_deref());
    let (Some(kernel), Some(grid), Some(block)) = (kernel, options.grid, options.block) else {
        let missing: Vec<&'static str> = [
            ("--kernel", kernel.is_none()),
            ("--grid", options.grid.is_none()),
            ("--block", options.block.is_none()),
        ]
        .iter()
        .filter(|(_, missing)| *missing)
        .map(|(option, _)| *option)
        .collect();
        let module = Unlaunched::new(path, code, source.as_ref(), options, missing)?;
        return Err(ReadFailure::Unlaunched(Box::new(module)));
    };
    let (buffers, arguments) = command_line::arguments(&options.arg).map_err(Failure::Usage)?;
    let (kernel_anchor, places) = command_line::places(kernel, grid, block, options);
    let mut cubins = Vec::new();
    let mut asked = None;
    let (module, kernel, note) = match code.file {
        ModuleFile::Text(module) => {
            let known = kernel_name::kernels(&module.text);
            let found = kernel_name::find(kernel, &known, &module.name, &kernel_anchor)?;
            // An unknown name is left for the interpreter, which knows all kernels.
            let kernel = found.unwrap_or(kernel).to_owned();
            (module, kernel, code.note)
        }
        ModuleFile::Container { name, bytes } => {
            let target = container::target(options.arch.as_deref())?;
            let chosen = container::choose(&name, &bytes, target, kernel, &kernel_anchor)?;
            (cubins, asked) = (chosen.cubins, target.or(chosen.target));
            (chosen.module, chosen.kernel, chosen.note)
        }
    };
    let launch = PlannedLaunch {
        kernel,
        grid,
        beyond_cuda: false,
        block,
        cluster: options.cluster,
        shared_bytes: options.shared_bytes.unwrap_or(0),
        repeat: 1,
        arguments,
        kernel_anchor,
        places,
    };
    Ok(Plan {
        module,
        note,
        cubins,
        target: asked,
        corpus_name: None,
        folder: PathBuf::new(),
        buffers,
        symbols: Vec::new(),
        textures: Vec::new(),
        load_caching: options.dlcm,
        l2: options.l2.unwrap_or_default(),
        timing: None,
        launches: vec![launch],
        expectations: Vec::new(),
    })
}

impl Unlaunched {
    /// The plan of a launch of one of the kernels.
    ///
    /// # Errors
    ///
    /// Returns the faults of the launch.
    pub fn launched(&self, options: &LaunchOptions) -> Result<Plan, Failure> {
        let plan = of_file(&self.path, &self.file, options)?;
        let note = self.note.clone().or(plan.note);
        Ok(Plan { note, ..plan })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(arguments: &[&str]) -> Result<Vec<String>, Report> {
        let arguments: Vec<String> = arguments.iter().map(|&name| name.to_owned()).collect();
        expanded(&arguments, None)
    }

    #[test]
    fn a_launch_file_names_its_module_and_the_files_of_its_buffers() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/inputs");
        let of = |input: &str| files(&format!("{folder}/{input}"), &LaunchOptions::default());
        let expected =
            ["saxpy.toml", "iota.npy", "saxpy.ptx"].map(|name| Path::new(folder).join(name));
        let mut found = of("saxpy.toml");
        found[1..].sort();
        assert_eq!(found, expected);
        assert_eq!(of("saxpy.ptx"), [Path::new(folder).join("saxpy.ptx")]);
        assert!(files("sgemm", &LaunchOptions::default()).is_empty());
        let declared = |input: &str| parameters(input, &LaunchOptions::default()).unwrap();
        assert_eq!(declared(&format!("{folder}/saxpy-n.toml")).unwrap()["n"], 1000.0);
        assert_eq!(declared("saxpy.ptx"), None);
    }

    #[test]
    fn patterns_stand_for_kernels_of_the_corpus() {
        assert_eq!(names(&["sgemm-1?", "x.ptx", "sgemm"]).unwrap(), ["sgemm-16", "x.ptx", "sgemm"]);
        let transposes = names(&["transpose*", "transpose"]).unwrap();
        assert!(transposes.len() > 3 && transposes[0] == "transpose", "{transposes:?}");
        assert_eq!(names(&["all"]).unwrap().len(), gpucast_corpus::entries().len());
        assert_eq!(names(&["no-*"]).unwrap_err().message, "no kernel's name fits `no-*`");
    }
}
