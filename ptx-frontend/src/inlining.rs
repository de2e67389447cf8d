//! The way from an instruction to the line that its programmer wrote.
//!
//! A compiler that inlines a call says so in `.loc` (`function_name`, `inlined_at`; PTX ISA 7.2).
//! The callee may be a library's, as `nvcuda::wmma` is, and nobody can change its lines. Counts
//! belong to the line of the user's own code that called it.

use crate::module::{Location, Module};

/// A function under way at an instruction, as a debugger lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The mangled name of the function if it was inlined; `None` for the function that holds the
    /// instruction, and where the module does not say.
    pub function: Option<&'a str>,
    /// The place in it.
    pub location: Location,
}

impl Module {
    /// The frames of a place: the innermost first, the function that holds the instruction last.
    pub fn frames(&self, location: Location) -> impl Iterator<Item = Frame<'_>> {
        let mut next = Some(location);
        std::iter::from_fn(move || {
            let location = next?;
            let call = location.inlined.and_then(|id| self.inlined.get(id.index()));
            next = call.map(|call| call.at);
            Some(Frame { function: call.and_then(|call| call.callee.as_deref()), location })
        })
    }

    /// The place in the user's own code that an instruction at `location` belongs to: the innermost
    /// frame in a file that is the user's own. If there is none it is `location`.
    ///
    /// A file is own if it lies in or below the folder of the outermost frame's file, and is none
    /// of a known library. If the outermost frame is a library's, as in kernels of CUTLASS and CUB,
    /// every file of no library is own.
    ///
    /// `None` if compilers named no line: they write line 0 for instructions that belong to none.
    #[must_use]
    pub fn own_place(&self, location: Location) -> Option<Location> {
        let outermost = self.frames(location).last().and_then(|f| self.file_name(f.location.file));
        let home = outermost.filter(|name| !is_library(name)).map(folder);
        let is_own = |file: u32| {
            self.file_name(file).is_some_and(|name| {
                !is_library(name) && home.is_none_or(|folder| lies_below(name, folder))
            })
        };
        let places = self.frames(location).map(|frame| frame.location);
        let mut own = places.filter(|place| place.line != 0 && is_own(place.file));
        own.next().or(Some(location)).filter(|place| place.line != 0)
    }

    /// The name of a file by its `.file` index.
    #[must_use]
    pub fn file_name(&self, index: u32) -> Option<&str> {
        self.files.iter().find(|(number, _)| *number == index).map(|(_, name)| name.as_str())
    }
}

/// Folders in which CUDA's libraries lie, as parts of a path. Their headers are inlined into
/// kernels, and a kernel's programmer changes none of them.
const LIBRARY_FOLDERS: &[&str] = &[
    "cccl/cub",
    "cccl/cuda",
    "cccl/thrust",
    "cooperative_groups",
    "crt",
    "cub/cub",
    "cuda/std",
    "cuda_runtime/include",
    "include/cub",
    "include/cute",
    "include/cutlass",
    "include/thrust",
    "libcudacxx/include",
    "targets/sbsa-linux/include",
    "targets/x86_64-linux/include",
    "thrust/thrust",
    "usr/include",
    "usr/local/cuda/include",
];

/// Headers of CUDA that lie in the folder of includes itself.
const LIBRARY_HEADERS: &[&str] = &[
    "cooperative_groups.h",
    "cuda_bf16.hpp",
    "cuda_fp16.hpp",
    "cuda_fp4.hpp",
    "cuda_fp6.hpp",
    "cuda_fp8.hpp",
    "cuda_pipeline_helpers.h",
    "mma.h",
    "vector_functions.hpp",
];

/// The parts of a path, whichever way its slashes lean.
fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".")
}

/// Returns true if a path is that of a library's header.
fn is_library(path: &str) -> bool {
    let parts: Vec<&str> = parts(path).collect();
    let Some((file, folders)) = parts.split_last() else { return false };
    let within = |library: &&str| {
        let wanted: Vec<&str> = library.split('/').collect();
        folders.windows(wanted.len()).any(|window| window == wanted)
    };
    LIBRARY_HEADERS.contains(file)
        || LIBRARY_FOLDERS.iter().any(within)
        || folders.iter().any(|folder| is_toolkit(folder))
}

/// Returns true if a folder is a toolkit's, as `cuda-12.4` is.
fn is_toolkit(folder: &str) -> bool {
    folder
        .strip_prefix("cuda-")
        .is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

/// The path of the folder that a file lies in.
fn folder(path: &str) -> &str {
    path.rfind(['/', '\\']).map_or("", |slash| &path[..=slash])
}

/// Returns true if a file lies in a folder or below it.
fn lies_below(path: &str, folder: &str) -> bool {
    let is_absolute = path.starts_with(['/', '\\']) || path.get(1..2) == Some(":");
    let leaves = parts(path).next() == Some("..");
    if folder.is_empty() { !is_absolute && !leaves } else { path.starts_with(folder) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel whose code has these `.loc`s, one for each `add`.
    fn module(files: &[&str], places: &[&str]) -> Module {
        let mut text =
            ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {\n.reg .u32 r;\n"
                .to_owned();
        for place in places {
            text += &format!(".loc {place}\nadd.u32 r, r, 1;\n");
        }
        text += "ret;\n}\n";
        for (index, name) in (1..).zip(files) {
            text += &format!(".file {index} \"{name}\"\n");
        }
        // `outer` and, from its third byte on, `ter`.
        text += ".section .debug_str\n{\n$L__outer:\n.b8 111,117,116\n.b8 101,114,0\n$L__in:\n\
                 .b8 0x69,110,0\n}\n";
        crate::load(&text).unwrap_or_else(|problems| panic!("{}", problems[0].message))
    }

    /// `file:line` of the frames of each instruction, with their functions.
    fn chains(module: &Module) -> Vec<String> {
        let body = module.functions[0].body.as_ref().unwrap();
        let frames = |location| {
            let frames = module.frames(location).map(|frame| {
                let Location { file, line, .. } = frame.location;
                format!(
                    "{}{file}:{line}",
                    frame.function.map_or(String::new(), |f| format!("{f} "))
                )
            });
            frames.collect::<Vec<_>>().join(" < ")
        };
        body.instructions
            .iter()
            .filter_map(|instruction| instruction.location)
            .map(frames)
            .collect()
    }

    /// The own places of all instructions as `file:line`.
    fn own(module: &Module) -> Vec<String> {
        let body = module.functions[0].body.as_ref().unwrap();
        let places = body.instructions.iter().filter_map(|instruction| instruction.location);
        places
            .map(|place| module.own_place(place))
            .map(|place| place.map_or("-".to_owned(), |at| format!("{}:{}", at.file, at.line)))
            .collect()
    }

    #[test]
    fn a_chain_goes_through_the_last_place_that_the_text_names() {
        let module = module(
            &["a.cu", "b.h"],
            &[
                "1 10 1",
                "1 5 3, function_name $L__outer, inlined_at 1 10 1",
                "2 7 1, function_name $L__in, inlined_at 1 5 3",
                "1 20 1",
                "1 5 3, function_name $L__outer+2, inlined_at 1 20 1",
                "2 7 1, function_name $L__in, inlined_at 1 5 3",
                "2 9 9, function_name $L__nowhere, inlined_at 1 77 1",
            ],
        );
        let chains = chains(&module);
        assert_eq!(chains[1], "outer 1:5 < 1:10");
        assert_eq!(chains[2], "in 2:7 < outer 1:5 < 1:10");
        assert_eq!(chains[5], "in 2:7 < ter 1:5 < 1:20");
        assert_eq!(chains[6], "2:9 < 1:77");
        assert_eq!(module.inlined.len(), 5);
    }

    #[test]
    fn a_place_inlined_into_itself_over_and_over_stays_short() {
        let places = vec!["1 5 1, function_name $L__in, inlined_at 1 5 1"; 500];
        let chains = chains(&module(&["a.cu"], &places));
        assert!(chains.iter().all(|chain| chain.len() < 2000));
    }

    #[test]
    fn library_code_belongs_to_its_caller() {
        let files =
            ["/home/u/p/k.cu", "/usr/local/cuda-12.4/include/crt/mma.hpp", "/home/u/p/h/t.h"];
        let places = [
            "1 10 1",
            "2 91 5, function_name $L__in, inlined_at 1 10 1",
            "3 4 1, function_name $L__in, inlined_at 1 10 1",
            "2 92 5, function_name $L__in, inlined_at 3 4 1",
            "1 0 1",
        ];
        assert_eq!(own(&module(&files, &places)), ["1:10", "1:10", "3:4", "3:4", "-", "-"]);
        // A header of somebody else is no library that is known, and lies elsewhere.
        let elsewhere = ["/home/u/p/k.cu", "/opt/x/mma.hpp", "/home/u/include/t.h"];
        assert_eq!(own(&module(&elsewhere, &places)), ["1:10", "1:10", "1:10", "1:10", "-", "-"]);
    }

    #[test]
    fn a_kernel_of_a_library_leads_to_the_functor() {
        let files = ["/x/include/cutlass/device_kernel.h", "main.cu", "/x/include/cute/atom.hpp"];
        let places = [
            "1 80 1",
            "2 7 1, function_name $L__in, inlined_at 1 80 1",
            "3 9 1, function_name $L__in, inlined_at 2 7 1",
            "3 9 1, function_name $L__in, inlined_at 1 80 1",
        ];
        assert_eq!(own(&module(&files, &places))[..4], ["1:80", "2:7", "2:7", "3:9"]);
    }

    #[test]
    fn libraries_are_known_by_their_folders() {
        for path in [
            "/usr/local/cuda-12.4/targets/x86_64-linux/include/cuda_fp16.hpp",
            "C:\\cutlass\\include\\cute\\tensor.hpp",
            "/v/site-packages/nvidia/cuda_runtime/include/cooperative_groups/details/reduce.h",
            "mma.h",
            "third_party/cub/cub/block/block_reduce.cuh",
        ] {
            assert!(is_library(path), "{path}");
        }
        for path in [
            "/home/cub.cu",
            "src/kernels/mma.cuh",
            "/home/nv/k.cu",
            "cuda-kernels/k.cu",
            "cutlass/examples/gemm.cu",
            "",
        ] {
            assert!(!is_library(path), "{path}");
        }
    }
}
