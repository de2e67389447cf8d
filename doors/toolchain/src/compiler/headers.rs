//! Headers that ordinary CUDA files include and NVRTC does not have.
//!
//! NVRTC declares `printf`, `assert` and the functions of mathematics itself, and has no integers
//! of fixed width. Headers of the host are needed by host code alone: they are empty.

/// A header: its name, and its text.
pub(super) struct Header {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
}

/// A header whose declarations NVRTC has built in.
const fn built_in(name: &'static str) -> Header {
    Header { name, text: "" }
}

/// The types are those of CCCL under NVRTC, which declares them again.
const INTEGERS: &str = "#pragma once
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef uint64_t uintptr_t;
typedef int64_t intptr_t;
";

const FLOATS: &str = "#pragma once
#define FLT_MAX 3.402823466e+38F
#define FLT_MIN 1.175494351e-38F
#define FLT_EPSILON 1.192092896e-07F
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
";

const LIMITS: &str = "#pragma once
#define CHAR_BIT 8
#define CHAR_MAX 127
#define CHAR_MIN (-128)
#define UCHAR_MAX 255
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295U
#define LONG_MAX 9223372036854775807L
#define LONG_MIN (-LONG_MAX - 1L)
#define ULONG_MAX 18446744073709551615UL
#define LLONG_MAX 9223372036854775807LL
#define LLONG_MIN (-LLONG_MAX - 1)
#define ULLONG_MAX 18446744073709551615ULL
";

/// The name of [`PRELUDE`]; no file is called so.
pub(super) const PRELUDE_NAME: &str = "gpucast-prelude.h";

/// Declarations that nvcc's own headers bring along on a 64-bit Linux.
pub(super) const PRELUDE: &str = concat!(
    include_str!("include/prelude.h"),
    include_str!("include/mathematics.h"),
    include_str!("include/standard.h"),
);

/// The header of CUB that brings the whole of it, and what stands for it under NVRTC: algorithms of
/// the whole device are host code.
pub(super) const CUB: Header = Header { name: "cub/cub.cuh", text: include_str!("include/cub.h") };

pub(super) const HEADERS: [Header; 19] = [
    built_in("assert.h"),
    built_in("cassert"),
    built_in("cmath"),
    built_in("cstddef"),
    built_in("cstdio"),
    built_in("cstdlib"),
    built_in("cuda_runtime.h"),
    built_in("cuda_runtime_api.h"),
    built_in("device_launch_parameters.h"),
    built_in("math.h"),
    built_in("stddef.h"),
    built_in("stdio.h"),
    built_in("stdlib.h"),
    Header { name: "cfloat", text: FLOATS },
    Header { name: "float.h", text: FLOATS },
    Header { name: "climits", text: LIMITS },
    Header { name: "limits.h", text: LIMITS },
    Header { name: "cstdint", text: INTEGERS },
    Header { name: "stdint.h", text: INTEGERS },
];

/// Headers of C, C++ and POSIX for the host.
#[rustfmt::skip]
const OF_HOST: &[&str] = &[
    "algorithm", "any", "array", "atomic", "bitset", "ccomplex", "cctype", "cerrno", "cfenv",
    "charconv", "chrono", "cinttypes", "clocale", "codecvt", "compare", "complex", "concepts",
    "condition_variable", "csetjmp", "csignal", "cstdarg", "cstring", "ctime", "cuchar", "cwchar",
    "cwctype", "deque", "exception", "execution", "filesystem", "format", "forward_list",
    "fstream", "functional", "future", "initializer_list", "iomanip", "ios", "iosfwd", "iostream",
    "istream", "iterator", "limits", "list", "locale", "map", "memory", "memory_resource", "mutex",
    "new", "numbers", "numeric", "optional", "ostream", "queue", "random", "ranges", "ratio",
    "regex", "set", "shared_mutex", "span", "sstream", "stack", "stdexcept", "streambuf",
    "string", "string_view", "strstream", "system_error", "thread", "tuple", "type_traits",
    "typeindex", "typeinfo", "unordered_map", "unordered_set", "utility", "valarray", "variant",
    "vector",
    "aio.h", "complex.h", "ctype.h", "dirent.h", "dlfcn.h", "errno.h", "fcntl.h", "fenv.h",
    "getopt.h", "glob.h", "iconv.h", "inttypes.h", "libgen.h", "locale.h", "malloc.h", "memory.h",
    "netdb.h", "poll.h", "pthread.h", "pwd.h", "regex.h", "sched.h", "semaphore.h", "setjmp.h",
    "signal.h", "stdalign.h", "stdarg.h", "stdatomic.h", "stdbool.h", "stdnoreturn.h", "string.h",
    "strings.h", "syslog.h", "tgmath.h", "threads.h", "time.h", "uchar.h", "ucontext.h",
    "unistd.h", "values.h", "wchar.h", "wctype.h",
    "conio.h", "direct.h", "io.h", "process.h", "tchar.h", "windows.h", "Windows.h", "winsock2.h",
    "mpi.h", "omp.h", "immintrin.h", "xmmintrin.h", "emmintrin.h", "x86intrin.h",
];

/// Folders of such headers.
const FOLDERS_OF_HOST: &[&str] = &["sys/", "arpa/", "net/", "netinet/", "linux/", "bits/", "ext/"];

/// Headers of CUDA and of its samples whose declarations have names of their own: source that
/// compiles without them does not use them on the GPU.
#[rustfmt::skip]
const OF_CUDA: &[&str] = &[
    "cublas.h", "cublas_v2.h", "cublasXt.h", "cublasLt.h", "cuda.h", "cudaProfiler.h",
    "cuda_profiler_api.h", "cuda_gl_interop.h", "cudnn.h", "cufft.h", "cufftXt.h", "curand.h",
    "curand_kernel.h", "curand_mtgp32_host.h", "cusolverDn.h", "cusparse.h", "cusparse_v2.h",
    "device_functions.h", "device_atomic_functions.h", "driver_types.h", "host_config.h",
    "host_defines.h", "math_constants.h", "math_functions.h", "nccl.h", "npp.h", "nppi.h",
    "nvToolsExt.h", "nvml.h", "nvrtc.h", "sm_20_atomic_functions.h", "sm_35_intrinsics.h",
    "sm_60_atomic_functions.h", "texture_fetch_functions.h", "texture_indirect_functions.h",
    "texture_types.h", "vector_functions.h", "vector_types.h", "builtin_types.h",
    "channel_descriptor.h", "common_functions.h", "cuda_texture_types.h", "cuda_surface_types.h",
    "surface_functions.h", "surface_types.h", "cooperative_groups.h", "cuda_fp16.h", "cuda_bf16.h",
    "cuComplex.h",
    "cutil.h", "cutil_inline.h", "cutil_math.h", "drvapi_error_string.h",
    "helper_cuda.h", "helper_cuda_drvapi.h", "helper_cuda_gl.h", "helper_functions.h",
    "helper_gl.h", "helper_image.h", "helper_math.h", "helper_string.h", "helper_timer.h",
    "sdkHelper.h", "shrQATest.h", "shrUtils.h",
];

/// Folders of such headers.
const FOLDERS_OF_CUDA: &[&str] = &["thrust/", "cub/", "opencv2/", "GL/", "cuda/std/"];

/// True for a header that may be empty where it is not found: host code alone needs it, or source
/// that needs it does not compile without it.
pub(super) fn may_be_empty(name: &str) -> bool {
    is_of_host(name) || is_in(name, OF_CUDA, FOLDERS_OF_CUDA)
}

/// True for a header of C, C++ or POSIX for the host.
pub(super) fn is_of_host(name: &str) -> bool {
    is_in(name, OF_HOST, FOLDERS_OF_HOST)
}

fn is_in(name: &str, names: &[&str], folders: &[&str]) -> bool {
    names.contains(&name) || folders.iter().any(|folder| name.starts_with(folder))
}

/// The Python package of CUDA 12 that has a header of CUDA; that of CUDA 13 lacks the last part.
pub(super) fn package(name: &str) -> Option<&'static str> {
    let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    if begins(&["curand"]) {
        Some("nvidia-curand-cu12")
    } else if begins(&["crt/"]) {
        Some("nvidia-cuda-nvcc-cu12")
    } else if begins(&["thrust/", "cub/", "cuda/", "nv/"]) {
        Some("nvidia-cuda-cccl-cu12")
    } else if begins(&["cublas"]) {
        Some("nvidia-cublas-cu12")
    } else if begins(&["cufft"]) {
        Some("nvidia-cufft-cu12")
    } else if begins(&["cooperative_groups", "cuda_", "cuComplex", "mma.h", "math_constants"])
        || name == "cuda.h"
    {
        Some("nvidia-cuda-runtime-cu12")
    } else {
        None
    }
}

/// The header of CUDA that declares a name, where the name says it.
pub(super) fn declaring(name: &str) -> Option<&'static str> {
    Some(match name {
        "half" | "half2" | "__half" | "__half2" | "__float2half" | "__half2float" => "cuda_fp16.h",
        "nv_bfloat16" | "nv_bfloat162" | "__nv_bfloat16" | "__nv_bfloat162" => "cuda_bf16.h",
        "cuComplex" | "cuFloatComplex" | "cuDoubleComplex" => "cuComplex.h",
        _ if name.starts_with("curand") => "curand_kernel.h",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What NVRTC declares, for a compiler of the host: each function for float and for double.
    fn of_nvrtc() -> String {
        let header = include_str!("include/mathematics.h");
        let names = |macro_name: &str| {
            let calls = header.lines().filter(|line| !line.starts_with("#define"));
            let inner = calls.filter_map(|line| line.strip_prefix(macro_name)?.strip_suffix(')'));
            inner.map(str::to_owned).collect::<Vec<_>>()
        };
        let mut text = String::from(
            "#define __device__\n#define __host__\ninline float __int_as_float(int i) \
             { float f; __builtin_memcpy(&f, &i, 4); return f; }\n\
             inline double abs(double x) { return x < 0 ? -x : x; }\n",
        );
        for word in names("GPUCAST_OF_INTEGER(") {
            let (result, name) = word.split_once(", ").unwrap();
            for ty in ["float", "double"] {
                let result = if result == "double" { ty } else { result };
                text += &format!(
                    "inline {result} {name}({ty} x) {{ return ({result}) __builtin_{name}(x); }}\n"
                );
            }
        }
        let two = names("GPUCAST_OF_TWO(");
        for name in two.iter().map(String::as_str) {
            for ty in ["float", "double"] {
                text += &format!(
                    "inline {ty} {name}({ty} x, {ty} y) {{ return ({ty}) __builtin_{name}(x, y); }}\n"
                );
            }
        }
        for ty in ["float", "double"] {
            text += &format!(
                "inline {ty} fma({ty} x, {ty} y, {ty} z) {{ return x * y + z; }}\n\
                 {ty} frexp({ty}, int *); {ty} ldexp({ty}, int); {ty} modf({ty}, {ty} *); \
                 {ty} scalbn({ty}, int);\n"
            );
        }
        text
    }

    /// NVRTC is not everywhere, and the compiler of Rust's C libraries nearly is. What it has of
    /// `std` by itself it is not shown.
    #[test]
    fn integers_become_double_and_limits_are_those_of_rust() {
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("k.cc"), folder.path().join("k"));
        let (int, above_least) = (i32::MAX, i64::MIN + 1);
        let (least, most, epsilon) = (f32::MIN, f32::MAX, f64::EPSILON);
        let facts = format!(
            "static_assert(std::is_same<decltype(sqrt(2)), double>::value, \"\");\n\
             static_assert(std::is_same<decltype(sqrt(2.0f)), float>::value, \"\");\n\
             static_assert(std::is_same<decltype(pow(2.0f, 2.0)), double>::value, \"\");\n\
             static_assert(std::is_same<decltype(std::atan2(1, 2u)), double>::value, \"\");\n\
             static_assert(std::is_same<decltype(std::hypot(1.0f, 2.0f)), float>::value, \"\");\n\
             static_assert(std::is_same<decltype(fma(1.0f, 2, 3.0)), double>::value, \"\");\n\
             static_assert(std::is_same<decltype(lround(7)), long>::value, \"\");\n\
             static_assert(std::numeric_limits<int>::max() == {int}, \"\");\n\
             static_assert(std::numeric_limits<long>::min() == ({above_least}) - 1, \"\");\n\
             static_assert(std::numeric_limits<unsigned char>::max() == {}, \"\");\n\
             static_assert(std::numeric_limits<char>::digits == 7, \"\");\n\
             static_assert(std::numeric_limits<float>::lowest() == {least:e}f, \"\");\n\
             static_assert(std::numeric_limits<float>::max() == {most:e}f, \"\");\n\
             static_assert(std::numeric_limits<double>::epsilon() == {epsilon:e}, \"\");\n\
             static_assert(std::max(2, 3) + std::min(2, 3) == 5, \"\");\n\
             int main() {{ return !(sqrt(4) == 2 && pow(2, 10) == 1024 && fmod(7, 2.0f) == 1 \
             && std::isinf(std::numeric_limits<double>::infinity())); }}\n",
            u8::MAX,
        );
        // The headers that the prelude includes stand in front of it.
        let own = PRELUDE.lines().filter(|line| !line.starts_with("#include"));
        let text = [of_nvrtc().as_str(), INTEGERS, LIMITS, FLOATS]
            .into_iter()
            .flat_map(str::lines)
            .chain(own)
            .filter(|line| *line != "#pragma once")
            .collect::<Vec<_>>()
            .join("\n");
        std::fs::write(&source, format!("{text}\n{facts}")).unwrap();
        let compiler = std::process::Command::new("c++")
            .args(["-std=c++17", "-w", "-o"])
            .args([&program, &source])
            .output();
        let Ok(compiled) = compiler else {
            eprintln!("c++ is not there to compile the headers");
            return;
        };
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        assert!(std::process::Command::new(&program).status().unwrap().success());
    }

    #[test]
    fn headers_of_the_host_may_be_empty_and_those_of_a_user_may_not() {
        for name in ["string.h", "sys/time.h", "iostream", "curand_kernel.h", "thrust/sort.h"] {
            assert!(may_be_empty(name), "{name}");
        }
        for name in ["mine.h", "includes.h", "crt/mma.h", "mma.h", "sys"] {
            assert!(!may_be_empty(name), "{name}");
        }
    }

    #[test]
    fn a_missing_header_of_cuda_has_a_package() {
        assert_eq!(package("curand_kernel.h"), Some("nvidia-curand-cu12"));
        assert_eq!(package("crt/mma.h"), Some("nvidia-cuda-nvcc-cu12"));
        assert_eq!(package("mine.h"), None);
    }

    #[test]
    fn headers_that_names_bring_may_be_empty_and_have_a_package() {
        for name in ["curandState", "curand_init", "__half", "__nv_bfloat16", "cuFloatComplex"] {
            let header = declaring(name).unwrap();
            assert!(may_be_empty(header) && package(header).is_some(), "{name}: {header}");
        }
        assert_eq!(declaring("half_width"), None);
    }
}
