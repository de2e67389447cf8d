//! Modules that are CUDA source: the caller's compiler turns them into PTX.

use super::container;
use super::module_text::{Contents, ModuleFile};
use super::options::LaunchOptions;
use crate::compiler::CudaOptions;
use crate::failure::{Failure, Report, SourceText};

/// The device code of a file.
pub struct Code {
    /// The code.
    pub file: ModuleFile,
    /// Names the compiler and repeats its warnings, if there was one.
    pub note: Option<String>,
}

/// The code of a file that `options` describe; CUDA is compiled.
///
/// # Errors
///
/// The compiler's errors, a missing compiler, and options that mean nothing for this file.
pub fn code(contents: Contents, options: &LaunchOptions) -> Result<Code, Failure> {
    match contents {
        Contents::Cuda(source) => {
            let target = container::target(options.arch.as_deref())?;
            let mut cuda = CudaOptions { target, ..options.cuda.clone() };
            // A pattern may have such brackets, too, and then it names no instance.
            let is_instance =
                |name: &&String| name.contains('<') && !name.contains(['*', '?', '(']);
            cuda.instances.extend(options.kernel.iter().filter(is_instance).cloned());
            compiled(&source, &cuda)
        }
        Contents::Code(file) => {
            let (name, is_text) = match &file {
                ModuleFile::Text(source) => (source.name.to_string(), true),
                ModuleFile::Container { name, .. } => (name.clone(), false),
            };
            if is_text && options.arch.is_some() {
                return Err(no_choice("--arch", &name));
            }
            if let Some(option) = options.cuda.first_given() {
                let message = format!("{option} is about CUDA source, and {name} is compiled");
                return Err(Failure::Usage(Report::new(message)));
            }
            Ok(Code { file, note: None })
        }
    }
}

/// An option that chooses where there is nothing to choose from.
pub(super) fn no_choice(option: &str, input: &str) -> Failure {
    let message =
        format!("{option} chooses among a corpus kernel's files, and {input} is no such kernel");
    Failure::Usage(Report::new(message))
}

fn compiled(source: &SourceText, options: &CudaOptions) -> Result<Code, Failure> {
    let Some(compiler) = &options.compiler else {
        let report = Report::new(format!("{} is CUDA, not PTX", source.name));
        let hint = format!("compile it first: nvcc -ptx -lineinfo -arch=sm_80 {}", source.name);
        return Err(report.hint(hint).into());
    };
    let mut options = options.clone();
    options.defines.append(&mut options.parameters);
    let compiled = compiler.compile(source, &options)?;
    let mut note = format!("{}: compiled by {} for {}", source.name, compiled.by, compiled.target);
    for warning in &compiled.warnings {
        note += "; ";
        note += warning;
    }
    // The name says that lines are those of the PTX, and keeps the folder, where sources are
    // looked for.
    let name = format!("{} (its PTX)", source.name);
    Ok(Code { file: ModuleFile::Text(SourceText::new(name, compiled.ptx)), note: Some(note) })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::compiler::{Compiled, Compiler};
    use crate::failure::shown;

    /// Understands one word.
    #[derive(Debug)]
    struct Parrot;

    impl Compiler for Parrot {
        fn compile(
            &self,
            source: &SourceText,
            options: &CudaOptions,
        ) -> Result<Compiled, Vec<Report>> {
            if !source.text.contains("__global__") {
                return Err(vec![source.report(0..1, "there is no kernel")]);
            }
            let target = options.target_among(&[]);
            let warnings = vec!["x.cu(1): x is never used".to_owned()];
            Ok(Compiled {
                ptx: format!(".target {target}"),
                by: "Parrot 1".into(),
                target,
                warnings,
            })
        }
    }

    fn compile(text: &str, options: &LaunchOptions) -> Result<(String, String), String> {
        match code(Contents::Cuda(SourceText::new("a/x.cu", text)), options) {
            Ok(Code { file: ModuleFile::Text(ptx), note }) => {
                Ok((format!("{}: {}", ptx.name, ptx.text), note.unwrap()))
            }
            Ok(_) => panic!("a compiler makes text"),
            Err(Failure::Input(reports)) => Err(reports.iter().map(shown).collect()),
            Err(other) => Err(other.to_string()),
        }
    }

    #[test]
    fn cuda_becomes_ptx_by_the_callers_compiler() {
        let mut options = LaunchOptions::default();
        let refused = compile("__global__ void k() {}", &options).unwrap_err();
        assert!(refused.contains("nvcc -ptx"), "{refused}");
        options.cuda.compiler = Some(Arc::new(Parrot));
        let (ptx, note) = compile("__global__ void k() {}", &options).unwrap();
        assert_eq!(ptx, "a/x.cu (its PTX): .target sm_80");
        assert_eq!(note, "a/x.cu: compiled by Parrot 1 for sm_80; x.cu(1): x is never used");
        assert!(compile("int x;", &options).unwrap_err().contains("there is no kernel"));
        // The architecture that the user asks for goes before that of the GPU.
        options.cuda.suggested = Some("sm_52".parse().unwrap());
        assert!(compile("__global__", &options).unwrap().0.ends_with("sm_52"));
        options.arch = Some("sm_90a".to_owned());
        assert!(compile("__global__", &options).unwrap().0.ends_with("sm_90a"));
    }

    #[test]
    fn options_of_compilers_are_refused_for_compiled_code() {
        let mut options = LaunchOptions::default();
        options.cuda.defines.push("N=1".to_owned());
        let file = ModuleFile::Text(SourceText::new("x.ptx", ".version 7.8"));
        let Err(Failure::Usage(report)) = code(Contents::Code(file), &options) else {
            panic!("--define must be refused");
        };
        assert_eq!(report.message, "--define is about CUDA source, and x.ptx is compiled");
    }
}
