//! Compiling by NVRTC what was written for nvcc.
//!
//! The source is compiled as it is. If NVRTC refuses it, the declarations that nvcc brings along
//! are put before it, and host code is left out. So is what NVRTC still stumbles over, as long as
//! nothing makes it the GPU's. Lines and columns stay where they are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use gpucast_forecast::Report;
use gpucast_forecast::compiler::Compiled;
use gpucast_forecast::cuda_text::{self, DeviceText};
use gpucast_ptx_frontend::container::Target;

use super::nvrtc::{Nvrtc, Outcome, Unit};
use super::options::{self, Passed};
use super::{Job, find, headers, log};

/// Times that source is compiled without what NVRTC stumbles over.
const MOST_ROUNDS: usize = 12;
/// Headers that may be missing.
const MOST_MISSING: usize = 64;
/// Instances of templates that are tried one by one.
const MOST_INSTANCES: usize = 16;
/// Included files that are read, and the bytes of each.
const MOST_FILES: usize = 256;
const MOST_BYTES: u64 = 4 << 20;

/// Compiles by the library in `path`.
pub(super) fn compile(path: &Path, job: &Job<'_>) -> Result<Compiled, Vec<Report>> {
    let wrong = |reason: String| {
        let message = format!("{} cannot be used: {reason}", path.display());
        vec![Report::new(message).hint("--cuda-compiler names another compiler")]
    };
    let nvrtc = Nvrtc::load(path).map_err(wrong)?;
    let (major, minor) = nvrtc.version().map_err(wrong)?;
    let by = format!("NVRTC {major}.{minor}");
    let known = nvrtc.targets().unwrap_or_default();
    let target = job.options.target_among(&known);
    if !known.is_empty() && !known.iter().any(|attempt| attempt.sm == target.sm) {
        let names: Vec<String> = known.iter().map(Target::to_string).collect();
        let report = Report::new(format!("{by} does not compile for {target}"));
        return Err(vec![report.hint(format!("it knows {}", names.join(", ")))]);
    }
    let passed = options::of_nvrtc(&job.options.extra).map_err(|report| vec![report])?;
    let is_default_device = passed.default_device;
    let work = Work {
        is_default_device,
        nvrtc: &nvrtc,
        job,
        options: words(path, job, target, &passed),
        wrong: &wrong,
    };
    let texts = Texts::read(job);
    let templates = Templates::of(&texts, job);
    let mut missing = Vec::new();
    let as_it_is = work.as_it_is(&templates.all(), &mut missing)?;
    let (outcome, by) = match as_it_is {
        Outcome { ptx: Some(_), .. } => (as_it_is, by),
        _ => {
            let macros = macros(&job.options.defines, &passed.words);
            let mut cut = Cut::new(&texts, &macros, passed.default_device, missing);
            match work.without_host_code(&mut cut, &templates)? {
                done @ Outcome { ptx: Some(_), .. } => {
                    let without = if cut.is_cut() { " without the host code" } else { "" };
                    let with: String = cut.found().map(|name| format!(" with {name}")).collect();
                    (done, format!("{by}{without}{with}"))
                }
                still => {
                    // Source with host code was meant for another compiler, so complaints about
                    // what is left of it count. Else the whole of it has what nvcc would bring.
                    let log = match job.has_host_code {
                        true => still.log,
                        false => work.whole(&cut, &templates)?.log,
                    };
                    return Err(refusal(job, &by, &log, &cut));
                }
            }
        }
    };
    let ptx = options::with_registers(outcome.ptx.unwrap_or_default(), passed.registers);
    Ok(Compiled { ptx, by, target, warnings: log::warnings(&outcome.log) })
}

/// The options of every attempt.
fn words(path: &Path, job: &Job<'_>, target: Target, passed: &Passed) -> Vec<String> {
    let mut options = vec![
        format!("--gpu-architecture={}", target.to_string().replace("sm_", "compute_")),
        "-lineinfo".to_owned(),
    ];
    options.extend(job.options.standard.iter().map(|standard| format!("-std={standard}")));
    options.extend(job.options.defines.iter().map(|define| format!("-D{define}")));
    let folders = job.include_folders().into_iter().chain(find::cuda_headers(path, &job.search));
    options.extend(folders.map(|folder| format!("-I{}", folder.display())));
    options.extend(passed.words.iter().cloned());
    options
}

/// The complaints of a log, with the headers that were not found.
fn refusal(job: &Job<'_>, by: &str, log: &str, cut: &Cut<'_>) -> Vec<Report> {
    let mut reports = job.refusal(by, log);
    // Of headers of the host only what they have in `std` is missed.
    let misses_std = log.contains("namespace \"std\" has no");
    let counts = |name: &&str| misses_std || !headers::is_of_host(name);
    let names: Vec<&str> = cut.missing.iter().map(String::as_str).filter(counts).collect();
    if !names.is_empty()
        && let Some(last) = reports.last_mut()
    {
        last.facts.push(format!("without {}, which is not found", names.join(", ")));
        let package = names.iter().find_map(|name| headers::package(name));
        if let Some(package) = package {
            let newer = package.trim_end_matches("-cu12");
            last.hint = Some(format!(
                "`pip install {package}` brings headers for CUDA 12, `pip install {newer}` for \
                 CUDA 13"
            ));
        }
    }
    if job.has_host_code
        && let Some(last) = reports.last_mut()
    {
        last.hint.get_or_insert_with(log::host_code);
    }
    reports
}

/// The macros of the command line, as a text defines them.
fn macros(defines: &[String], words: &[String]) -> String {
    let passed = words.iter().filter_map(|word| {
        word.strip_prefix("-D").or_else(|| word.strip_prefix("--define-macro="))
    });
    let all = defines.iter().map(String::as_str).chain(passed);
    all.map(|definition| format!("#define {}\n", definition.replacen('=', " ", 1))).collect()
}

/// The source, and the files that it includes by names in quotes.
#[derive(Default)]
struct Texts {
    source: String,
    /// By the names with which they are included.
    included: BTreeMap<String, String>,
    /// Files that are included in other ways. They are compiled as they are, and their macros may
    /// mark what is the GPU's.
    others: BTreeMap<PathBuf, String>,
}

impl Texts {
    /// Reads what lies in the folders of the job. A name that means files of two folders is left to
    /// the compiler.
    fn read(job: &Job<'_>) -> Self {
        let folders = job.include_folders();
        let mut texts = Self { source: job.source.text.to_string(), ..Self::default() };
        let mut waiting = included(&texts.source, None, true);
        while let Some(Included { name, in_quotes, from, is_by_cut }) = waiting.pop() {
            let is_built_in = || headers::HEADERS.iter().any(|header| header.name == name);
            let mut in_folders = folders.iter().map(|folder| folder.join(&name));
            let found = in_folders.find(|path| path.is_file());
            let is_cut = in_quotes && is_by_cut && found.is_some();
            // A name in quotes may mean a file beside the one that includes it.
            let beside = || from.filter(|_| in_quotes).map(|from| from.join(&name));
            let Some(path) = found.or_else(beside) else { continue };
            let is_done = match is_cut {
                true => texts.included.contains_key(&name) || texts.included.len() >= MOST_FILES,
                false => texts.others.contains_key(&path) || texts.others.len() >= MOST_FILES,
            };
            let is_short = || path.metadata().is_ok_and(|data| data.len() <= MOST_BYTES);
            if is_done || !is_cut && is_built_in() || !is_short() {
                continue;
            }
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            waiting.extend(included(&text, path.parent(), is_cut));
            if is_cut {
                texts.included.insert(name, text);
            } else {
                texts.others.insert(path, text);
            }
        }
        texts
    }

    fn all(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.source.as_str()).chain(self.included.values().map(String::as_str))
    }
}

/// A file that a text includes.
struct Included {
    name: String,
    in_quotes: bool,
    /// The folder of the text, if it is not the source's.
    from: Option<PathBuf>,
    /// True if the text is one of those that are cut.
    is_by_cut: bool,
}

fn included(text: &str, from: Option<&Path>, is_by_cut: bool) -> Vec<Included> {
    let included = |(name, in_quotes): (&str, bool)| Included {
        name: name.to_owned(),
        in_quotes,
        from: from.map(Path::to_owned),
        is_by_cut,
    };
    cuda_text::includes(text).into_iter().map(included).collect()
}

/// The instances of templates that are compiled.
struct Templates {
    /// Those that the user asks for.
    asked: Vec<String>,
    /// Those that the source launches, and a guess for each kernel that it does not instantiate.
    offered: Vec<String>,
}

impl Templates {
    fn of(texts: &Texts, job: &Job<'_>) -> Self {
        let asked = job.options.instances.clone();
        let declared: Vec<_> = texts.all().flat_map(cuda_text::declared).collect();
        let templates: Vec<_> = declared
            .iter()
            .filter_map(|kernel| Some((&kernel.name, kernel.template.as_ref()?)))
            .collect();
        let is_of = |instance: &str, name: &str| {
            instance.split('<').next().is_some_and(|start| start.trim() == name)
        };
        let is_template =
            |instance: &String| templates.iter().any(|(name, _)| is_of(instance, name));
        let mut offered: Vec<String> =
            texts.all().flat_map(cuda_text::instances).filter(is_template).collect();
        let instantiated: Vec<String> = texts.all().flat_map(cuda_text::instantiated).collect();
        for (name, parameters) in templates.into_iter().filter(|it| !instantiated.contains(it.0)) {
            let guess = format!("{name}<{}>", guessed(parameters));
            if !asked.iter().any(|name_asked| is_of(name_asked, name)) && !offered.contains(&guess)
            {
                offered.push(guess);
            }
        }
        offered.truncate(MOST_INSTANCES);
        Self { asked, offered }
    }

    fn all(&self) -> Vec<String> {
        self.asked.iter().chain(&self.offered).cloned().collect()
    }
}

/// Arguments for the parameters of a template of which no launch is known: numbers in single
/// precision, and tiles that fit into a CTA.
fn guessed(parameters: &[String]) -> String {
    let guess = |parameter: &String| {
        let first = parameter.split([' ', '=']).next().unwrap_or_default();
        let lower = parameter.to_lowercase();
        if parameter.contains('=') {
            return None;
        }
        Some(match first {
            "typename" | "class" => "float",
            "bool" => "true",
            _ if lower.contains("tile") || lower.contains("dim") => "16",
            _ => "256",
        })
    };
    parameters.iter().map_while(guess).collect::<Vec<_>>().join(", ")
}

/// Texts of which parts can be left out.
struct Cut<'a> {
    source: DeviceText<'a>,
    included: BTreeMap<&'a str, DeviceText<'a>>,
    /// Headers that are not found and empty.
    missing: Vec<String>,
    /// Headers of names that the GPU's code has, and which the source does not include.
    added: Vec<&'static str>,
    /// True if what has no mark is the GPU's: headers such as `cuda.h` declare functions of the
    /// host, and types that kernels use.
    default_device: bool,
}

impl<'a> Cut<'a> {
    /// `macros` are those of the command line.
    fn new(texts: &'a Texts, macros: &str, keep_unmarked: bool, missing: Vec<String>) -> Self {
        let others = texts.others.values().map(String::as_str);
        let all: Vec<&str> = texts.all().chain(others).chain([macros]).collect();
        let marks: BTreeSet<&str> = cuda_text::mark_macros(&all);
        let cut = |text: &'a String| DeviceText::new(text, &marks, keep_unmarked);
        let included = texts.included.iter();
        Self {
            source: cut(&texts.source),
            included: included.map(|(name, text)| (name.as_str(), cut(text))).collect(),
            missing,
            added: Vec::new(),
            default_device: keep_unmarked,
        }
    }

    fn is_cut(&self) -> bool {
        self.source.is_cut() || self.included.values().any(DeviceText::is_cut)
    }

    /// The headers that were added and are found.
    fn found(&self) -> impl Iterator<Item = &'static str> {
        self.added.iter().copied().filter(|name| !self.missing.iter().any(|header| header == name))
    }

    /// Leaves out what the errors of a log are about, and includes what declares the names that
    /// must stay. Returns false if there is nothing of that.
    fn less(&mut self, log: &str, name: &str) -> bool {
        let mut is_less = false;
        for error in log::complaints(log).iter().filter(|complaint| complaint.is_error) {
            let is_left_out = if let Some(header) = error.missing_header() {
                add_missing(&mut self.missing, header)
            } else if error.file == name {
                self.source.leave_out(error.line)
            } else if let Some(text) = self.included.get_mut(error.file) {
                text.leave_out(error.line)
            } else {
                let is_unmarked = error.message.contains(log::UNMARKED) && !self.default_device;
                self.default_device |= is_unmarked;
                is_unmarked
            };
            is_less |= is_left_out || self.add(error.undefined());
        }
        is_less
    }

    /// Includes the header of CUDA that declares a name.
    fn add(&mut self, name: Option<&str>) -> bool {
        let header = name.and_then(headers::declaring);
        let new = header.filter(|header| !self.added.contains(header));
        self.added.extend(new);
        new.is_some()
    }
}

/// Adds a header that is not found, if it may be empty.
fn add_missing(missing: &mut Vec<String>, header: &str) -> bool {
    let is_new = headers::may_be_empty(header) && !missing.iter().any(|known| known == header);
    if is_new && missing.len() < MOST_MISSING {
        missing.push(header.to_owned());
        return true;
    }
    false
}

/// A source on its way through NVRTC.
struct Work<'a> {
    nvrtc: &'a Nvrtc,
    job: &'a Job<'a>,
    options: Vec<String>,
    /// True if the options make what has no mark the GPU's.
    is_default_device: bool,
    wrong: &'a dyn Fn(String) -> Vec<Report>,
}

impl Work<'_> {
    /// Compiles the source with the headers that may be empty and are not found.
    fn as_it_is(
        &self,
        instances: &[String],
        missing: &mut Vec<String>,
    ) -> Result<Outcome, Vec<Report>> {
        loop {
            let empty = missing.iter().map(|name| (name.clone(), String::new())).collect();
            let text = self.job.source.text.to_string();
            let outcome = self.once(text, empty, &[], instances)?;
            let complaints = log::complaints(&outcome.log);
            let header = complaints.iter().find_map(|complaint| complaint.missing_header());
            let is_new = header.is_some_and(|header| add_missing(missing, header));
            if outcome.ptx.is_some() || !is_new {
                return Ok(outcome);
            }
        }
    }

    /// Compiles the source without its host code, and with the instances that can be made.
    fn without_host_code(
        &self,
        cut: &mut Cut<'_>,
        templates: &Templates,
    ) -> Result<Outcome, Vec<Report>> {
        let whole = self.cut(cut, &templates.all())?;
        if whole.ptx.is_some() || templates.offered.is_empty() {
            return Ok(whole);
        }
        let plain = self.cut(cut, &templates.asked)?;
        if plain.ptx.is_none() {
            return Ok(plain);
        }
        let mut best = plain;
        let mut instances = templates.asked.clone();
        for instance in &templates.offered {
            instances.push(instance.clone());
            match self.once_cut(cut, &instances)? {
                outcome @ Outcome { ptx: Some(_), .. } => best = outcome,
                Outcome { ptx: None, .. } => {
                    instances.pop();
                }
            }
        }
        Ok(best)
    }

    /// Compiles again and again, without what NVRTC stumbles over.
    fn cut(&self, cut: &mut Cut<'_>, instances: &[String]) -> Result<Outcome, Vec<Report>> {
        let (mut rounds, mut missing) = (0, cut.missing.len());
        loop {
            let outcome = self.once_cut(cut, instances)?;
            let is_done = outcome.ptx.is_some() || rounds >= MOST_ROUNDS;
            if is_done || !cut.less(&outcome.log, &self.job.source.name) {
                return Ok(outcome);
            }
            // A header that is not found ends a round before it begins.
            rounds += usize::from(cut.missing.len() == missing);
            missing = cut.missing.len();
        }
    }

    fn once_cut(&self, cut: &Cut<'_>, instances: &[String]) -> Result<Outcome, Vec<Report>> {
        let included = cut.included.iter();
        let included = included.map(|(name, text)| ((*name).to_owned(), text.text())).collect();
        self.with_prelude(cut, cut.source.text(), included, instances)
    }

    /// Compiles the source and all that it includes, with what nvcc brings along.
    fn whole(&self, cut: &Cut<'_>, templates: &Templates) -> Result<Outcome, Vec<Report>> {
        self.with_prelude(cut, self.job.source.text.to_string(), Vec::new(), &templates.all())
    }

    fn with_prelude(
        &self,
        cut: &Cut<'_>,
        text: String,
        mut given: Vec<(String, String)>,
        instances: &[String],
    ) -> Result<Outcome, Vec<Report>> {
        given.extend(cut.missing.iter().map(|name| (name.clone(), String::new())));
        let added = cut.added.iter().map(|name| format!("#include <{name}>\n"));
        let prelude = std::iter::once(headers::PRELUDE.to_owned()).chain(added).collect();
        given.push((headers::PRELUDE_NAME.to_owned(), prelude));
        given.push((headers::CUB.name.to_owned(), headers::CUB.text.to_owned()));
        let mut before = vec![format!("--pre-include={}", headers::PRELUDE_NAME)];
        if cut.default_device && !self.is_default_device {
            before.push("-default-device".to_owned());
        }
        self.once(text, given, &before, instances)
    }

    fn once(
        &self,
        text: String,
        headers: Vec<(String, String)>,
        options: &[String],
        instances: &[String],
    ) -> Result<Outcome, Vec<Report>> {
        let unit = Unit {
            name: &self.job.source.name,
            text,
            headers,
            options: self.options.iter().chain(options).cloned().collect(),
            instances: instances.to_vec(),
        };
        self.nvrtc.compile(&unit).map_err(self.wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stop;
    use crate::compiler::Search;
    use gpucast_forecast::SourceText;
    use gpucast_forecast::compiler::CudaOptions;

    #[test]
    fn templates_are_guessed_up_to_the_first_default() {
        let guess = |parameters: &[&str]| {
            guessed(&parameters.iter().map(|&parameter| parameter.to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(
            guess(&["typename T", "int TILE", "bool B", "unsigned N"]),
            "float, 16, true, 256"
        );
        assert_eq!(guess(&["class T", "int N=4", "int M=5"]), "float");
        assert_eq!(guess(&[]), "");
    }

    #[test]
    fn templates_that_the_source_instantiates_need_no_guess() {
        let source = SourceText::new(
            "k.cu",
            "template <typename T> __global__ void scale(T *x) {}\n\
             template <int N> __global__ void shift(int *x) {}\n\
             template __global__ void scale<double>(double *);\n",
        );
        let options = CudaOptions::default();
        let search = Search { packages: &[], stop: &Stop::never() };
        let job = Job { source: &source, options: &options, has_host_code: false, search };
        let templates = Templates::of(&Texts::read(&job), &job);
        assert_eq!(templates.all(), ["shift<256>"]);
    }

    #[test]
    fn errors_leave_out_what_is_not_the_gpus() {
        let texts = Texts {
            source: "#include \"a.h\"\nusing x::y;\n__global__ void k() {}\n".to_owned(),
            included: [("a.h".to_owned(), "struct H { z v; };\n".to_owned())].into(),
            ..Texts::default()
        };
        let mut cut = Cut::new(&texts, "", false, Vec::new());
        let log = "k.cu(2): error: name must be a namespace name\na.h(1): error: no z\n\
                   k.cu(1): catastrophic error: cannot open source file \"sys/time.h\"\n";
        assert!(cut.less(log, "k.cu"));
        assert_eq!(cut.missing, ["sys/time.h"]);
        assert_eq!(cut.source.text().lines().nth(1).unwrap().trim(), "");
        assert_eq!(cut.included["a.h"].text().trim(), "", "structures lose no data");
        assert!(!cut.less(log, "k.cu"));
        assert!(!cut.less("k.cu(3): error: it is the GPU's\n", "k.cu"));
        let log = "k.cu(3): error: identifier \"curandState\" is undefined\n";
        assert!(cut.less(log, "k.cu") && !cut.less(log, "k.cu"), "it is included once");
        assert_eq!(cut.added, ["curand_kernel.h"]);
    }

    #[test]
    fn macros_of_headers_and_of_the_command_line_are_marks() {
        let source = "#include \"a.h\"\n#include <b.h>\nstruct Acc { HD Acc() : s(0) {} float s; \
                      };\nKERNEL void k() {}\nDEV int d() { return 1; }\nLATE int l() {}\n";
        let texts = Texts {
            source: source.to_owned(),
            included: [("a.h".to_owned(), "#define KERNEL EXPORT __global__\n".to_owned())].into(),
            others: [(PathBuf::from("b.h"), "#define HD __host__ __device__\n".to_owned())].into(),
        };
        let defines = ["DEV=__device__".to_owned(), "N=4".to_owned()];
        let macros = macros(&defines, &["-DLATE=DEV inline".to_owned(), "-G".to_owned()]);
        assert_eq!(macros, "#define DEV __device__\n#define N 4\n#define LATE DEV inline\n");
        let cut = Cut::new(&texts, &macros, false, Vec::new());
        assert_eq!(cut.source.text(), source);
        let cut = Cut::new(&texts, "", false, Vec::new());
        assert_eq!(cut.source.text().lines().nth(4).unwrap().trim(), "", "nothing marks it");
    }

    #[test]
    fn files_are_read_for_their_macros_even_if_they_are_not_cut() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("sub/a.h", "#include \"b.h\"\n#include <c.h>\n");
        write("sub/b.h", "#include \"b.h\"\n");
        write("c.h", "#include <c.h>\n#include \"d.h\"\n#include <stdio.h>\n");
        write("d.h", "");
        write("stdio.h", "");
        let name = folder.path().join("k.cu").display().to_string();
        let source = SourceText::new(&*name, "#include \"sub/a.h\"\n#include <none.h>\n");
        let options = CudaOptions::default();
        let search = Search { packages: &[], stop: &Stop::never() };
        let texts =
            Texts::read(&Job { source: &source, options: &options, has_host_code: true, search });
        assert_eq!(texts.included.keys().collect::<Vec<_>>(), ["sub/a.h"]);
        let others: Vec<&Path> = texts.others.keys().map(PathBuf::as_path).collect();
        let expected = ["c.h", "d.h", "sub/b.h"].map(|name| folder.path().join(name));
        assert_eq!(others, expected);
    }
}
