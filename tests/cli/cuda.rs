//! CUDA source as a kernel: which compiler is asked, and what becomes of its answer.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::gpucast::{Outcome, command, command as command_of, gpucast, outcome};

const SOURCE: &str =
    "extern \"C\" __global__ void saxpy(unsigned n, float a, const float *x, float *y)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
";

const LAUNCH: &str = "--grid 4 --block 256 --arg u32:1000 --arg f32:2 --arg 'buf:f32[1000]=iota' \
                      --arg 'buf:f32[1000]'";

/// A compiler that writes its arguments beside itself, and those of all its calls to `calls`. It
/// says `said`, and then writes the PTX of the tests' saxpy, unless `fails`.
fn fake(folder: &Path, name: &str, said: &str, fails: bool) -> String {
    let ptx = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs/saxpy.ptx");
    let path = folder.join(name);
    let script = format!(
        "#!/bin/sh\n\
         case \"$1\" in\n\
         --version) echo 'fake compiler, release 12.9, V12.9.1'; exit 0;;\n\
         --list-gpu-arch) echo compute_75; echo compute_80; exit 0;;\n\
         --target=*) echo sm_75 sm_80; exit 0;;\n\
         esac\n\
         echo \"$@\" > {folder}/arguments\n\
         echo \"$@\" >> {folder}/calls\n\
         while [ $# -gt 1 ]; do shift; done\n\
         echo '{said}'\n\
         {end}\n",
        folder = folder.display(),
        end = match fails {
            true => "exit 1".to_owned(),
            false => format!("/bin/cp {} \"$1\"", ptx.display()),
        },
    );
    // A file that is still open for writing cannot be executed, by a process forked in between.
    let beside = folder.join("beside");
    fs::write(&beside, script).unwrap();
    fs::set_permissions(&beside, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(&beside, &path).unwrap();
    path.display().to_string()
}

fn source(folder: &Path) -> String {
    let path = folder.join("saxpy.cu");
    fs::write(&path, SOURCE).unwrap();
    path.display().to_string()
}

#[test]
fn a_compiler_gets_the_options_and_its_ptx_runs() {
    let folder = tempfile::tempdir().unwrap();
    let cuda = source(folder.path());
    let warning = format!("{cuda}(3): warning #177-D: something is odd");
    let nvcc = fake(folder.path(), "nvcc", &warning, false);
    let run = format!("run {cuda} {LAUNCH} -D N=4 -I headers --std c++20 --cuda-compiler {nvcc}");
    let ran = gpucast(&run);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("compiled by nvcc 12.9 for sm_80"), "{}", ran.stderr);
    assert!(ran.stderr.contains("saxpy.cu:3: warning: something is odd"), "{}", ran.stderr);
    let arguments = fs::read_to_string(folder.path().join("arguments")).unwrap();
    for expected in ["-ptx", "-lineinfo", "-arch=sm_80", "-DN=4", "-Iheaders", "-std=c++20"] {
        assert!(arguments.split(' ').any(|word| word == expected), "{arguments}");
    }
    let asked = gpucast(&format!("run {cuda} {LAUNCH} --arch sm_90a --cuda-compiler {nvcc}"));
    assert_eq!(asked.status, 0, "{}", asked.stderr);
    let arguments = fs::read_to_string(folder.path().join("arguments")).unwrap();
    assert!(arguments.contains("-arch=sm_90a"), "{arguments}");
    let clang = fake(folder.path(), "clang++", "", false);
    let ran = gpucast(&format!("run {cuda} {LAUNCH} --cuda-compiler {clang}"));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let arguments = fs::read_to_string(folder.path().join("arguments")).unwrap();
    assert!(arguments.contains("--cuda-gpu-arch=sm_80"), "{arguments}");
}

#[test]
fn a_kernel_that_is_counted_for_several_gpus_is_compiled_once_and_says_it_once() {
    let folder = tempfile::tempdir().unwrap();
    let cuda = source(folder.path());
    let nvcc = fake(folder.path(), "nvcc", "", false);
    let predict = format!("predict {cuda} {LAUNCH} --gpu gtx-480,a100 --cuda-compiler {nvcc}");
    let predicted = gpucast(&predict);
    assert_eq!(predicted.status, 0, "{}", predicted.stderr);
    assert!(predicted.stderr.contains("the kernel is counted 2 times"), "{}", predicted.stderr);
    assert_eq!(
        predicted.stderr.matches("compiled by nvcc 12.9").count(),
        1,
        "{}",
        predicted.stderr
    );
}

/// Two commands about one launch must not be about two codes.
#[test]
fn commands_compile_for_the_gpu_that_they_are_about() {
    let folder = tempfile::tempdir().unwrap();
    let cuda = source(folder.path());
    let nvcc = fake(folder.path(), "nvcc", "", false);
    let output = folder.path().join("output").display().to_string();
    let in_any_size = "--grid '${ceil(n/256)}' --block 256 --arg 'u32:${n}' --arg f32:2 \
                       --arg 'buf:f32[${n}]=iota' --arg 'buf:f32[${n}]'";
    for command in [
        format!("predict {cuda} {LAUNCH}"),
        format!("profile {cuda} {LAUNCH}"),
        format!("advise {cuda} {LAUNCH}"),
        format!("sensitivity {cuda} {LAUNCH}"),
        format!("report {cuda} {LAUNCH} -o {output}.html"),
        format!("diff {cuda} {cuda} {LAUNCH}"),
        format!("plot roofline {cuda} {LAUNCH} -o {output}.svg"),
        format!("plot occupancy {cuda} {LAUNCH} -o {output}.svg"),
        format!("plot access {cuda} {LAUNCH} -o {output}.svg"),
        format!("plot timeline {cuda} {LAUNCH} -o {output}.svg"),
        format!("trace {cuda} {LAUNCH} -o {output}.json"),
        format!("sweep {cuda} {in_any_size} --vary n=1000,2000"),
        format!("counts {cuda} {in_any_size} --parametric n"),
    ] {
        let done = gpucast(&format!("{command} --gpu gtx-1650 --cuda-compiler {nvcc}"));
        assert_eq!(done.status, 0, "{command}: {}", done.stderr);
        let calls = fs::read_to_string(folder.path().join("calls")).unwrap();
        let times = if command.starts_with("diff") { 2 } else { 1 };
        assert_eq!(calls.matches("-arch=sm_75").count(), times, "{command}: {calls}");
        assert_eq!(calls.lines().count(), times, "{command}: {calls}");
        fs::remove_file(folder.path().join("calls")).unwrap();
    }
}

#[test]
fn errors_of_the_compiler_point_into_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let cuda = source(folder.path());
    let error = format!(
        "{cuda}(5): error: identifier \"z\" is undefined\n          y[i] = a * x[i] + y[i];\n                     ^\n"
    );
    let nvcc = fake(folder.path(), "nvcc", &error, true);
    let failed = gpucast(&format!("run {cuda} {LAUNCH} --cuda-compiler {nvcc}"));
    assert_eq!(failed.status, 1);
    for part in ["identifier \"z\" is undefined", "saxpy.cu:5:", "y[i] = a * x[i] + y[i];"] {
        assert!(failed.stderr.contains(part), "{part}: {}", failed.stderr);
    }
    let checked = gpucast(&format!("check {cuda} --cuda-compiler {nvcc}"));
    assert_eq!(checked.status, 1);
    assert!(checked.stderr.contains("identifier"), "{}", checked.stderr);
}

#[test]
fn without_a_compiler_the_message_says_what_to_install() {
    let folder = tempfile::tempdir().unwrap();
    let refused = gpucast(&format!("predict {} --gpu a100", source(folder.path())));
    // The machine of the test may have a CUDA installation at its usual place.
    if !Path::new("/usr/local/cuda").exists() {
        assert_eq!(refused.status, 1);
        assert!(
            refused.stderr.contains("pip install nvidia-cuda-nvrtc-cu12"),
            "{}",
            refused.stderr
        );
    }
    let missing = gpucast(&format!("check {} --cuda-compiler /no/nvcc", source(folder.path())));
    assert!(missing.stderr.contains("there is no compiler /no/nvcc"), "{}", missing.stderr);
    let wrong = gpucast("run saxpy.ptx --grid 4 --block 256 -D N=1");
    assert_eq!(wrong.status, 2);
    assert!(wrong.stderr.contains("--define is about CUDA source"), "{}", wrong.stderr);
}

/// Runs the program with NVRTC where the environment of the test has it.
fn nvrtc(arguments: &str) -> Outcome {
    let mut program = command(arguments);
    for name in ["VIRTUAL_ENV", "CUDA_HOME", "PATH"] {
        program.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    outcome(program)
}

/// Returns true if there is no NVRTC, and says so.
fn is_without_nvrtc(ran: &Outcome) -> bool {
    let is_without = ran.stderr.contains("NVRTC is not found");
    if is_without {
        eprintln!("NVRTC is not there: VIRTUAL_ENV with nvidia-cuda-nvrtc-cu12 tests it");
    }
    is_without
}

/// nvcc has the host's functions of mathematics on integers and on two types, and `std`.
#[test]
fn mathematics_and_std_are_there_under_nvrtc_as_under_nvcc() {
    let folder = tempfile::tempdir().unwrap();
    let cuda = folder.path().join("k.cu");
    let values = [
        ("sqrt(two)", 2_f64.sqrt()),
        ("pow(1.5f, 2.0)", 2.25),
        ("pow(two, two)", 4.0),
        ("std::sqrt(2.0)", 2_f64.sqrt()),
        ("atan2(1.0f, 2.0)", 1_f64.atan2(2.0)),
        ("fmod(7, two)", 1.0),
        ("std::max(two, 3) + min(two, 3)", 5.0),
        ("std::numeric_limits<int>::max()", f64::from(i32::MAX)),
        ("std::numeric_limits<short>::min()", f64::from(i16::MIN)),
        ("std::numeric_limits<float>::lowest()", f64::from(f32::MIN)),
        ("std::numeric_limits<double>::epsilon()", f64::EPSILON),
        ("std::is_same<decltype(pow(1.0f, 2.0)), double>::value", 1.0),
        ("std::is_same<decltype(hypot(1.0f, 2.0f)), float>::value", 1.0),
        ("std::is_unsigned<std::size_t>::value + std::is_signed<char>::value", 2.0),
    ];
    let lines: Vec<String> =
        values.iter().enumerate().map(|(at, (text, _))| format!("x[{at}] = {text};")).collect();
    let text = format!(
        "#include <cmath>\n#include <limits>\n#include <type_traits>\nusing namespace std;\n\
         extern \"C\" __global__ void k(double *x, int two) {{\n{}\n}}\n",
        lines.join("\n")
    );
    fs::write(&cuda, text).unwrap();
    let (cuda, npy) = (cuda.display(), folder.path().join("x.npy"));
    let ran = nvrtc(&format!(
        "run {cuda} --grid 1 --block 1 --arg buf:f64[{}] --arg s32:2 --cuda-compiler nvrtc --dump \
         arg0={}",
        values.len(),
        npy.display()
    ));
    if is_without_nvrtc(&ran) {
        return;
    }
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let bytes = fs::read(npy).unwrap();
    let (doubles, _) = bytes[bytes.len() - 8 * values.len()..].as_chunks();
    for (bytes, (text, expected)) in doubles.iter().zip(values) {
        let found = f64::from_le_bytes(*bytes);
        assert!((found - expected).abs() <= 1e-15 * expected.abs(), "{text}: {found} {expected}");
    }
}

/// What nvcc would bring along is no complaint beside the user's own mistake.
#[test]
fn a_mistake_stands_alone_under_nvrtc() {
    let folder = tempfile::tempdir().unwrap();
    let cuda = folder.path().join("k.cu");
    let text = "#include <algorithm>\nextern \"C\" __global__ void k(float *x, int n) {\n    \
                x[0] = std::max(sqrt(n), pow(x[1], 2.0)) + weigth;\n}\n";
    fs::write(&cuda, text).unwrap();
    let refused = nvrtc(&format!("check {} --cuda-compiler nvrtc", cuda.display()));
    if is_without_nvrtc(&refused) {
        return;
    }
    assert_eq!(refused.status, 1);
    assert_eq!(refused.stderr.matches("error: ").count(), 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("\"weigth\" is undefined"), "{}", refused.stderr);
}

/// With NVRTC where the environment of the test has it.
#[test]
fn nvrtc_compiles_and_complains() {
    let folder = tempfile::tempdir().unwrap();
    let cuda = source(folder.path());
    let launch = format!("{LAUNCH} --cuda-compiler nvrtc");
    let ran = nvrtc(&format!("run {cuda} {launch}"));
    if is_without_nvrtc(&ran) {
        return;
    }
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("compiled by NVRTC"), "{}", ran.stderr);
    let lines = nvrtc(&format!("profile {cuda} {launch} --by line --machine rules"));
    assert!(lines.stdout.contains("y[i] = a * x[i] + y[i];"), "{}", lines.stdout);
    let text = format!("#include <cstdint>\n#include <stdio.h>\n{SOURCE}")
        .replace("unsigned n", "uint32_t n");
    fs::write(&cuda, text).unwrap();
    let ran = nvrtc(&format!("run {cuda} {launch}"));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    fs::write(&cuda, SOURCE.replace("a * x[i]", "a * z[i]")).unwrap();
    let failed = nvrtc(&format!("run {cuda} {launch}"));
    assert_eq!(failed.status, 1);
    for part in ["identifier \"z\" is undefined", "saxpy.cu:5:20"] {
        assert!(failed.stderr.contains(part), "{part}: {}", failed.stderr);
    }
    // What nvcc would compile: host code and its headers, types that nvcc has, a template.
    let whole = format!(
        "#include <iostream>\n#include <sys/time.h>\n#include <vector>\n{}\n\
         template <typename T, int N> __global__ void scale(T *x, T by) {{ x[threadIdx.x % N] *= by; }}\n\
         using namespace std;\nvector<int> all;\n\
         int main() {{ saxpy<<<1, 1>>>(0, 0, 0, 0); scale<double, 4><<<1, 32>>>(nullptr, 2); }}\n",
        SOURCE.replace("unsigned n", "uint n").replace("a * x[i]", "(a + INFINITY) * x[i]")
    );
    fs::write(&cuda, &whole).unwrap();
    let host = nvrtc(&format!("run {cuda} {launch} --kernel saxpy"));
    assert_eq!(host.status, 0, "{}", host.stderr);
    assert!(host.stderr.contains("without the host code"), "{}", host.stderr);
    let template = format!(
        "run {cuda} --kernel 'scale<double, 4>' --grid 1 --block 32 --arg 'buf:f64[4]' --arg f64:2 \
         --cuda-compiler nvrtc"
    );
    let ran = nvrtc(&template);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    // A function without a mark is the GPU's where that is asked for.
    let unmarked = "float twice(float x) { return 2 * x; }\n\
                    extern \"C\" __global__ void k(float *x) { x[0] = twice(x[0]); }\n";
    fs::write(&cuda, unmarked).unwrap();
    let run = format!("run {cuda} --grid 1 --block 1 --arg 'buf:f32[1]' --cuda-compiler nvrtc");
    let refused = nvrtc(&run);
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("--nvcc-option=-default-device"), "{}", refused.stderr);
    let ran = nvrtc(&format!("{run} --nvcc-option=-default-device"));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    // Types of CCCL's, if that is there, are those that source for nvcc has.
    let types = "#include <cuda/std/cstdint>\nextern \"C\" __global__ void k(uint *x) { \
                 x[0] = (intptr_t) x; }\n";
    fs::write(&cuda, types).unwrap();
    let ran = nvrtc(&run);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    // A name of CUDA's brings its header, or the message says where that is.
    let bare = "extern \"C\" __global__ void k(curandState *s) { curand_init(1, 0, 0, s); }\n";
    fs::write(&cuda, bare).unwrap();
    let ran = nvrtc(&run.replace("f32[1]", "u32[16]"));
    let expected = match ran.status {
        0 => "with curand_kernel.h for sm_80",
        _ => "pip install nvidia-curand-cu12",
    };
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
}

/// Of source with host code, NVRTC reads what it can where there is no nvcc.
#[test]
fn clang_gets_what_nvrtc_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let cuda = source(folder.path());
    fake(folder.path(), "clang++", "", false);
    let asked = folder.path().join("arguments");
    let host = "int main() { saxpy<<<1, 1>>>(0, 0, 0, 0); }\n";
    let run = || {
        let mut program = command(&format!("run {cuda} {LAUNCH} --kernel saxpy"));
        for name in ["VIRTUAL_ENV", "CUDA_HOME"] {
            program.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        program.env("PATH", folder.path());
        outcome(program)
    };
    fs::write(&cuda, format!("{SOURCE}{host}")).unwrap();
    let whole = run();
    assert_eq!(whole.status, 0, "{}", whole.stderr);
    assert_eq!(asked.exists(), !whole.stderr.contains("compiled by NVRTC"), "{}", whole.stderr);
    fs::write(&cuda, format!("#include <header_of_nobody.h>\n{SOURCE}{host}")).unwrap();
    let refused = run();
    assert_eq!(refused.status, 0, "{}", refused.stderr);
    assert!(asked.exists(), "{}", refused.stderr);
}

/// The command that an answer offers, without the program's name.
#[track_caller]
fn offered(stderr: &str) -> &str {
    let line = stderr.lines().find_map(|line| line.strip_prefix("  gpucast "));
    line.unwrap_or_else(|| panic!("there is no command in {stderr}"))
}

#[test]
fn a_kernel_is_predicted_with_nothing_else_given() {
    let folder = tempfile::tempdir().unwrap();
    let cuda = source(folder.path());
    let nvcc = fake(folder.path(), "nvcc", "", false);
    let predicted = gpucast(&format!("predict {cuda} --cuda-compiler {nvcc}"));
    assert_eq!(predicted.status, 0, "{}", predicted.stderr);
    let first = predicted.stderr.lines().next().unwrap();
    assert!(first.contains("no GPU is given") && first.contains("h100-sxm"), "{first}");
    let kernel = "saxpy(unsigned n, float a, const float *x, float *y)";
    assert!(predicted.stderr.contains(kernel), "{}", predicted.stderr);
    assert!(predicted.stdout.contains("(h100-sxm)"), "{}", predicted.stdout);
    let command = offered(&predicted.stderr);
    assert!(command.starts_with(&format!("predict {cuda} --cuda-compiler {nvcc}")), "{command}");
    let again = gpucast(command);
    assert_eq!((again.status, again.stdout), (0, predicted.stdout), "{command}");
    // Programs that read the result get no launch that nobody chose.
    let json = gpucast(&format!("predict {cuda} --cuda-compiler {nvcc} --format json"));
    assert_eq!((json.status, json.stdout.as_str()), (2, ""));
    // Another GPU by the environment, and none of the notes if nobody wants them.
    let mut quiet = command_of(&format!("predict {cuda} --cuda-compiler {nvcc} -q"));
    quiet.env("GPUCAST_GPU", "a100");
    let quiet = outcome(quiet);
    assert_eq!((quiet.status, quiet.stderr.as_str()), (0, ""));
    assert!(quiet.stdout.contains("(a100"), "{}", quiet.stdout);
}

#[test]
fn a_command_that_lacks_a_launch_is_offered_with_one() {
    let folder = tempfile::tempdir().unwrap();
    let cuda = source(folder.path());
    let nvcc = fake(folder.path(), "nvcc", "", false);
    for command in ["run", "profile --machine rules --gpu gtx-960"] {
        let refused = gpucast(&format!("{command} {cuda} --cuda-compiler {nvcc} -- -fmad=false"));
        assert_eq!(refused.status, 2, "{}", refused.stderr);
        let offered = offered(&refused.stderr);
        assert!(offered.starts_with(command) && offered.ends_with("-- -fmad=false"), "{offered}");
        let ran = gpucast(offered);
        assert_eq!(ran.status, 0, "{offered}: {}", ran.stderr);
    }
}

#[test]
fn options_of_the_compiler_pass_through() {
    let folder = tempfile::tempdir().unwrap();
    let cuda = source(folder.path());
    let nvcc = fake(folder.path(), "nvcc", "", false);
    let run = format!(
        "run {cuda} {LAUNCH} --cuda-compiler {nvcc} --nvcc-option --use_fast_math \
         --nvrtc-option=-rdc=true -- -fmad=false -maxrregcount 16"
    );
    let ran = gpucast(&run);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let arguments = fs::read_to_string(folder.path().join("arguments")).unwrap();
    let words: Vec<&str> = arguments.split(' ').collect();
    for expected in ["--use_fast_math", "-rdc=true", "-fmad=false", "-maxrregcount", "16"] {
        assert!(words.contains(&expected), "{arguments}");
    }
    let wrong =
        gpucast(&format!("run {cuda} {LAUNCH} --cuda-compiler {nvcc} -- -maxrregcount 999"));
    assert_eq!(wrong.status, 1);
    assert!(wrong.stderr.contains("no number of registers"), "{}", wrong.stderr);
    let ptx = gpucast("run saxpy.ptx --grid 4 --block 256 -- -fmad=false");
    assert_eq!(ptx.status, 2);
    assert!(ptx.stderr.contains("--nvcc-option is about CUDA source"), "{}", ptx.stderr);
}
