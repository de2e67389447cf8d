//! Options that a user passes through to the compiler, in the words of nvcc or NVRTC.

use gpucast_forecast::Report;

/// What options ask for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Passed {
    /// Those that the compiler takes.
    pub(super) words: Vec<String>,
    /// The most registers of a thread, which `ptxas` and the rules read in the PTX.
    pub(super) registers: Option<u32>,
    /// True if functions without a mark are the GPU's.
    pub(super) default_device: bool,
}

/// Options that need the next word.
const WITH_VALUE: [&str; 9] = [
    "-maxrregcount",
    "--maxrregcount",
    "-std",
    "--std",
    "-I",
    "-D",
    "-U",
    "-include",
    "--pre-include",
];
/// Options of nvcc for the host's compiler and the linker, with the next word.
const OF_HOST_WITH_VALUE: [&str; 8] = [
    "-Xcompiler",
    "--compiler-options",
    "-Xlinker",
    "-ccbin",
    "--compiler-bindir",
    "-o",
    "-x",
    "-Xarchive",
];
/// The same without a value.
const OF_HOST: [&str; 10] = [
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "-g",
    "--expt-relaxed-constexpr",
    "-expt-relaxed-constexpr",
    "--verbose",
    "-c",
    "-ptx",
];
/// Options for the assembler, with the next word.
const OF_ASSEMBLER: [&str; 2] = ["-Xptxas", "--ptxas-options"];

/// Options for nvcc or clang, which take all of them.
pub(super) fn of_program(extra: &[String]) -> Result<Passed, Report> {
    let registers = registers(extra)?;
    let default_device = has_default_device(extra);
    Ok(Passed { words: extra.to_vec(), registers, default_device })
}

/// Options for NVRTC: those about host code and linking are left out.
pub(super) fn of_nvrtc(extra: &[String]) -> Result<Passed, Report> {
    let mut words = Vec::new();
    let mut rest = extra.iter();
    while let Some(word) = rest.next() {
        let option = word.split('=').next().unwrap_or_default();
        let has_value = word.contains('=');
        if OF_ASSEMBLER.contains(&option) {
            let value = match word.split_once('=') {
                Some((_, value)) => value,
                None => rest.next().map_or("", String::as_str),
            };
            for_assembler(value)?;
        } else if ["-gencode", "--generate-code", "-arch", "--gpu-architecture"].contains(&option) {
            return Err(Report::new(format!("{option} is not passed to the compiler"))
                .hint("--arch sm_80 says what is compiled for"));
        } else if OF_HOST_WITH_VALUE.contains(&option) {
            if !has_value {
                rest.next();
            }
        } else if OF_HOST.contains(&option)
            || word.starts_with("-l") && word != "-lineinfo"
            || word.starts_with("-L")
        {
            // Nothing that concerns the GPU.
        } else if WITH_VALUE.contains(&word.as_str()) {
            let value = rest.next().ok_or_else(|| without_value(word))?;
            let is_short = matches!(word.as_str(), "-I" | "-D" | "-U");
            words.push(format!("{word}{}{value}", if is_short { "" } else { "=" }));
        } else if option == "--use-fast-math" {
            words.push("--use_fast_math".to_owned());
        } else {
            words.push(word.clone());
        }
    }
    let default_device = has_default_device(extra);
    Ok(Passed { words, registers: registers(extra)?, default_device })
}

fn has_default_device(extra: &[String]) -> bool {
    extra.iter().any(|word| {
        matches!(word.as_str(), "-default-device" | "--device-as-default-execution-space")
    })
}

fn without_value(word: &str) -> Report {
    Report::new(format!("the option {word} has no value"))
}

/// Of the assembler's options, those that say nothing about code, or that this program has itself.
fn for_assembler(value: &str) -> Result<(), Report> {
    for word in value.split(',') {
        let wrong = |hint: &str| {
            let report = Report::new(format!("{word} is not passed to the assembler"));
            Err(report.hint(hint))
        };
        match word {
            "" | "-v" | "--verbose" | "-O3" | "-warn-spills" | "--warn-on-spills" => {}
            _ if word.contains("dlcm") || word.contains("def-load-cache") => {
                return wrong("--dlcm ca or --dlcm cg says which caches keep loads");
            }
            _ => return wrong("leave it out: code is assembled with the usual options"),
        }
    }
    Ok(())
}

/// The value of `-maxrregcount`, in each of its forms.
fn registers(extra: &[String]) -> Result<Option<u32>, Report> {
    let mut found = None;
    for (at, word) in extra.iter().enumerate() {
        let name = word.trim_start_matches('-');
        let value = match name.split_once('=') {
            Some(("maxrregcount", value)) => value,
            None if name == "maxrregcount" => {
                extra.get(at + 1).map(String::as_str).ok_or_else(|| without_value(word))?
            }
            _ => continue,
        };
        let number = value.parse().ok().filter(|number| (1..=255).contains(number));
        found = Some(number.ok_or_else(|| {
            Report::new(format!("`{value}` is no number of registers for {word}"))
                .hint("a thread has 1 to 255 registers")
        })?);
    }
    Ok(found)
}

/// PTX whose kernels have at most so many registers. Kernels with launch bounds keep these, as nvcc
/// documents of `-maxrregcount`.
pub(super) fn with_registers(ptx: String, registers: Option<u32>) -> String {
    let Some(registers) = registers else { return ptx };
    let mut text = String::with_capacity(ptx.len() + 64);
    let mut rest = ptx.as_str();
    while let Some(at) = rest.find(".entry") {
        let open = rest[at..].find('{').map_or(rest.len(), |open| at + open);
        let head = &rest[at..open];
        let bounded = [".maxntid", ".reqntid", ".minnctapersm", ".maxnreg"];
        text += &rest[..open];
        let is_body = open < rest.len() && !head.contains(';');
        if is_body && !bounded.iter().any(|directive| head.contains(directive)) {
            text += &format!(".maxnreg {registers}\n");
        }
        rest = &rest[open..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nvrtc(line: &str) -> Result<Passed, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        of_nvrtc(&words).map_err(|report| report.message)
    }

    #[test]
    fn options_of_nvcc_become_those_of_nvrtc() {
        let passed = nvrtc(
            "--use_fast_math -O3 -Xcompiler -Wall -lcublas -maxrregcount 32 -fmad=false -D N=4 \
             -default-device -Xptxas -v -rdc=true",
        )
        .unwrap();
        let words = [
            "--use_fast_math",
            "-maxrregcount=32",
            "-fmad=false",
            "-DN=4",
            "-default-device",
            "-rdc=true",
        ];
        assert_eq!(passed.words, words);
        assert_eq!((passed.registers, passed.default_device), (Some(32), true));
        assert_eq!(nvrtc("--maxrregcount=64").unwrap().registers, Some(64));
    }

    #[test]
    fn options_that_would_be_lost_are_refused() {
        assert!(nvrtc("-Xptxas -dlcm=cg").unwrap_err().contains("-dlcm=cg"));
        assert!(nvrtc("-Xptxas=-O1").unwrap_err().contains("-O1"));
        assert!(nvrtc("-arch=sm_80").unwrap_err().contains("-arch"));
        assert!(nvrtc("-maxrregcount").unwrap_err().contains("no value"));
        assert!(nvrtc("-maxrregcount 0").unwrap_err().contains("no number of registers"));
    }

    #[test]
    fn kernels_without_bounds_have_at_most_so_many_registers() {
        let ptx = ".entry a(.param .u32 p)\n{ ret; }\n.entry b()\n.maxntid 64, 1, 1\n{ ret; }\n";
        assert_eq!(
            with_registers(ptx.to_owned(), Some(32)),
            ".entry a(.param .u32 p)\n.maxnreg 32\n{ ret; }\n.entry b()\n.maxntid 64, 1, 1\n{ ret; }\n"
        );
        assert_eq!(with_registers(ptx.to_owned(), None), ptx);
    }
}
