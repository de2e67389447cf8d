//! A CUDA compiler, as far as reading a kernel needs to know it. Finding and running one is the
//! caller's part: a [`Compiler`].

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use gpucast_model::Gpu;
use gpucast_ptx_frontend::container::Target;

use crate::failure::{Report, SourceText};

/// Turns CUDA into PTX.
pub trait Compiler: fmt::Debug + Send + Sync {
    /// Compiles the text of a file, with line information.
    ///
    /// # Errors
    ///
    /// The compiler's errors with their places, or the reason why there is no compiler.
    fn compile(&self, source: &SourceText, options: &CudaOptions) -> Result<Compiled, Vec<Report>>;
}

/// The product of a compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The PTX.
    pub ptx: String,
    /// The compiler with its version.
    pub by: String,
    /// The architecture that it compiled for.
    pub target: Target,
    /// The compiler's warnings, one line each.
    pub warnings: Vec<String>,
}

/// The way to compile CUDA, and the compiler.
#[derive(Clone, Debug, Default)]
pub struct CudaOptions {
    /// Macros, as `NAME` or `NAME=VALUE`.
    pub defines: Vec<String>,
    /// Values of a tuned kernel's parameters, as `NAME=VALUE`. They are macros of CUDA source, and
    /// nothing to other modules, which are filled in elsewhere.
    pub parameters: Vec<String>,
    /// Folders of headers.
    pub includes: Vec<PathBuf>,
    /// The version of C++, such as `c++17`.
    pub standard: Option<String>,
    /// Further options, in the compiler's own words.
    pub extra: Vec<String>,
    /// Instances of templates that are wanted, such as `scale<float>`, beside those that the
    /// source launches.
    pub instances: Vec<String>,
    /// The architecture that the user asks for.
    pub target: Option<Target>,
    /// The architecture of the GPU in question: if `target` is `None`, the compiler takes it, or
    /// the nearest one before that it knows.
    pub suggested: Option<Target>,
    /// The compiler. A library caller may have none, and then CUDA is refused.
    pub compiler: Option<Arc<dyn Compiler>>,
}

impl CudaOptions {
    /// The first option given that is about compiling.
    pub fn first_given(&self) -> Option<&'static str> {
        [
            ("--define", !self.defines.is_empty()),
            ("--include", !self.includes.is_empty()),
            ("--std", self.standard.is_some()),
            ("--nvcc-option", !self.extra.is_empty()),
        ]
        .into_iter()
        .find_map(|(option, given)| given.then_some(option))
    }
}

impl PartialEq for CudaOptions {
    /// Compilers are compared as objects: equal options must lead to equal code.
    fn eq(&self, other: &Self) -> bool {
        let Self { defines, parameters, includes, standard, extra, .. } = self;
        let Self { instances, target, suggested, compiler, .. } = self;
        let same_compiler = match (compiler, &other.compiler) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        same_compiler
            && (defines, includes, standard) == (&other.defines, &other.includes, &other.standard)
            && (parameters, target, suggested)
                == (&other.parameters, &other.target, &other.suggested)
            && (extra, instances) == (&other.extra, &other.instances)
    }
}

/// A text with the options by which it was compiled, and what came of it.
type Known = (SourceText, CudaOptions, Result<Compiled, Vec<Report>>);

/// A compiler that remembers what it has compiled.
#[derive(Debug)]
struct Remembering {
    compiler: Arc<dyn Compiler>,
    known: Mutex<Vec<Known>>,
}

impl Compiler for Remembering {
    fn compile(&self, source: &SourceText, options: &CudaOptions) -> Result<Compiled, Vec<Report>> {
        // The lock is held while something is compiled: whoever wants the same waits for it.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Without the compiler, which would hold itself.
        let asked = CudaOptions { compiler: None, ..options.clone() };
        let is_same = |(text, by, _): &&Known| (text, by) == (source, &asked);
        if let Some((_, _, result)) = known.iter().find(is_same) {
            return result.clone();
        }
        let result = self.compiler.compile(source, options);
        known.push((source.clone(), asked, result.clone()));
        result
    }
}

/// The architecture for CUDA of which nothing else is known: the first with asynchronous copies and
/// bfloat16, which most code of today needs, and one that every compiler since CUDA 11 has.
const USUAL_TARGET: Target = Target { sm: 80, suffix: None };

impl CudaOptions {
    /// The same with a compiler that compiles each text once, for callers that open a kernel again
    /// and again at other sizes.
    #[must_use]
    pub fn remembering(mut self) -> Self {
        self.compiler = self.compiler.map(|compiler| {
            Arc::new(Remembering { compiler, known: Mutex::default() }) as Arc<dyn Compiler>
        });
        self
    }

    /// Suggests the architecture of the oldest of these GPUs: its PTX runs on all of them.
    pub fn suggest_for(&mut self, gpus: &[Gpu]) {
        let capabilities = gpus.iter().filter_map(|gpu| gpu.compute_capability.as_ref());
        self.suggested = capabilities.map(|figure| Target::from(figure.value)).min();
    }

    /// The architecture to compile for, by a compiler that knows `known`, in ascending order. A
    /// compiler that does not say what it knows has none there.
    pub fn target_among(&self, known: &[Target]) -> Target {
        if let Some(asked) = self.target {
            return asked;
        }
        let wanted = self.suggested.unwrap_or(USUAL_TARGET);
        if known.contains(&wanted) {
            return wanted;
        }
        // PTX runs on every later GPU, so the nearest architecture before is as good.
        let before = known.iter().rfind(|kernel| kernel.suffix.is_none() && kernel.sm <= wanted.sm);
        before.or(known.first()).copied().unwrap_or(wanted)
    }
}

/// Returns true if a text is CUDA: PTX has no such word, and always a version.
pub fn is_cuda(path: &Path, text: &str) -> bool {
    let by_name = path.extension().is_some_and(|ending| ending == "cu");
    (by_name || text.contains("__global__")) && !text.contains(".version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_known_architecture_stands_for_a_gpus() {
        let known =
            ["sm_50", "sm_52", "sm_80", "sm_90", "sm_90a"].map(|name| name.parse().unwrap());
        let chosen = |suggested: Option<&str>| {
            let suggested = suggested.map(|name| name.parse().unwrap());
            CudaOptions { suggested, ..CudaOptions::default() }.target_among(&known).to_string()
        };
        assert_eq!(chosen(None), "sm_80");
        assert_eq!(chosen(Some("sm_90a")), "sm_90a");
        assert_eq!(chosen(Some("sm_61")), "sm_52");
        assert_eq!(chosen(Some("sm_120")), "sm_90");
        // Older than everything that the compiler knows.
        assert_eq!(chosen(Some("sm_20")), "sm_50");
        let asked = CudaOptions { target: Some("sm_35".parse().unwrap()), ..Default::default() };
        assert_eq!(asked.target_among(&known).to_string(), "sm_35");
    }

    /// Counts how often it is asked.
    #[derive(Debug, Default)]
    struct Counting(std::sync::atomic::AtomicUsize);

    impl Compiler for Counting {
        fn compile(
            &self,
            source: &SourceText,
            options: &CudaOptions,
        ) -> Result<Compiled, Vec<Report>> {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let ptx = format!("{} {:?}", source.text, options.defines);
            Ok(Compiled { ptx, by: String::new(), target: USUAL_TARGET, warnings: Vec::new() })
        }
    }

    #[test]
    fn a_text_is_compiled_once_for_each_set_of_options() {
        let counting = Arc::new(Counting::default());
        let compiler: Arc<dyn Compiler> = Arc::clone(&counting) as _;
        let options = CudaOptions { compiler: Some(compiler), ..Default::default() }.remembering();
        let defined = CudaOptions { defines: vec!["N=2".to_owned()], ..options.clone() };
        let (one, other) = (SourceText::new("k.cu", "one"), SourceText::new("k.cu", "other"));
        let runs = [(&one, &options), (&one, &options), (&other, &options), (&one, &defined)];
        for (text, options) in runs.into_iter().chain(runs) {
            let compiled = options.compiler.as_ref().unwrap().compile(text, options).unwrap();
            assert_eq!(compiled.ptx, format!("{} {:?}", text.text, options.defines));
        }
        assert_eq!(counting.0.load(std::sync::atomic::Ordering::Relaxed), 3);
    }

    #[test]
    fn cuda_is_told_from_ptx() {
        assert!(is_cuda(Path::new("x.txt"), "__global__ void k() {}"));
        assert!(is_cuda(Path::new("x.cu"), "int x;"));
        assert!(!is_cuda(Path::new("x.cu"), ".version 7.8 // __global__"));
        assert!(!is_cuda(Path::new("x.ptx"), "x"));
    }
}
