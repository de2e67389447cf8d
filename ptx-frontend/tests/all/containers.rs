//! Containers against NVIDIA's own tools, and against files that mean harm.
//!
//! `containers/regenerate.sh` builds every kind of container and lets `cuobjdump` extract what is
//! in it; here the reader must extract the same bytes.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy.toml allows these in tests, but not in the helpers of an integration test"
)]

use std::fs;
use std::path::{Path, PathBuf};

use gpucast_ptx_frontend::container::{
    Compression, ConstantBank, ContainerError, Contents, Cubin, CubinParam, EntryKind, FileKind,
    Limits, Reason, SelectError, Target, best_ptx, best_ptx_of_each_module, best_ptx_with_kernel,
    open, open_with,
};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/containers")
}

fn read(name: &str) -> Vec<u8> {
    fs::read(folder().join("files").join(name)).unwrap()
}

/// All committed containers: name and bytes.
fn files() -> Vec<(String, Vec<u8>)> {
    let mut names: Vec<_> = fs::read_dir(folder().join("files"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names.into_iter().map(|name| (name.clone(), read(&name))).collect()
}

/// What `cuobjdump -all -xptx all` extracted: architecture and text, in its order.
fn extracted_by_cuobjdump(name: &str) -> Vec<(String, Vec<u8>)> {
    let Ok(folder) = fs::read_dir(folder().join("expected").join(name)) else {
        return Vec::new();
    };
    let mut texts: Vec<_> = folder
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .map(|path| {
            let stem = path.file_stem().unwrap().to_str().unwrap();
            let (number, target) = stem.split_once('.').unwrap();
            (number.parse::<u32>().unwrap(), target.to_owned(), fs::read(&path).unwrap())
        })
        .collect();
    texts.sort();
    texts.into_iter().map(|(_, target, text)| (target, text)).collect()
}

fn extracted_here(contents: &Contents<'_>) -> Vec<(String, Vec<u8>)> {
    contents
        .ptx()
        .map(|entry| (entry.target.unwrap().to_string(), entry.ptx().unwrap().into_owned()))
        .collect()
}

fn target(name: &str) -> Target {
    name.parse().unwrap()
}

#[test]
fn every_container_yields_the_ptx_that_cuobjdump_extracts() {
    let mut compared = 0;
    for (name, data) in files() {
        let bare = name.ends_with(".ptx") || name.ends_with(".cubin");
        if bare {
            continue;
        }
        let expected = extracted_by_cuobjdump(&name);
        let found = extracted_here(&open(&data).unwrap());
        compared += expected.len();
        assert!(found == expected, "{name}: other PTX than cuobjdump extracts");
    }
    assert!(compared > 25, "only {compared} texts to compare with");
}

#[test]
fn every_extracted_ptx_parses() {
    for (name, data) in files() {
        for entry in open(&data).unwrap().ptx() {
            let text = entry.ptx_text().unwrap();
            let (_, errors) = gpucast_ptx_frontend::parse(&text);
            assert!(errors.is_empty(), "{name}: {errors:?}");
        }
    }
}

#[test]
fn the_kind_of_each_file_is_told() {
    for (name, kind) in [
        ("second.ptx", FileKind::PtxText),
        ("mode-none.fatbin", FileKind::Fatbin),
        ("kernels-80.cubin", FileKind::Cubin),
        ("object.o", FileKind::HostObject),
        ("relocatable.o", FileKind::HostObject),
        ("libshared.so", FileKind::SharedLibrary),
        ("executable", FileKind::SharedLibrary),
        ("executable-rdc", FileKind::HostExecutable),
        ("libstatic.a", FileKind::Archive),
    ] {
        assert_eq!(open(&read(name)).unwrap().kind, kind, "{name}");
    }
}

#[test]
fn compression_modes_are_recognised() {
    for (mode, expected) in [
        ("none", Compression::None),
        ("speed", Compression::Lz4),
        ("size", Compression::Zstd),
        ("balance", Compression::Zstd),
        ("default", Compression::Zstd),
    ] {
        let data = read(&format!("mode-{mode}.fatbin"));
        let contents = open(&data).unwrap();
        assert!(contents.ptx().all(|entry| entry.compression == expected), "{mode}");
    }
}

#[test]
fn cubins_come_out_of_every_container_whole() {
    let mut seen = 0;
    for (name, data) in files() {
        for entry in open(&data).unwrap().cubins() {
            let cubin = entry.cubin().unwrap_or_else(|error| panic!("{name}: {error}"));
            // The suffix `f` is not recorded in the machine code.
            assert_eq!(cubin.target.sm, entry.target.unwrap().sm, "{name}");
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen} cubins");
}

#[test]
fn entries_tell_name_options_version_and_section() {
    let data = read("lineinfo.fatbin");
    let contents = open(&data).unwrap();
    let ptx = contents.ptx().next().unwrap();
    assert_eq!(ptx.name.as_deref(), Some("kernels.cu"));
    assert_eq!(ptx.options.as_deref(), Some("--generate-line-info"));
    assert_eq!(ptx.version, Some((9, 5)));
    assert!(!ptx.debug);
    assert!(open(&read("debug.fatbin")).unwrap().ptx().all(|entry| entry.debug));
    let data = read("bundle-named.fatbin");
    let contents = open(&data).unwrap();
    for entry in &contents.entries {
        assert_eq!(entry.name.as_deref(), Some("second.cu"));
    }
    for (name, section) in [
        ("object.o", Some(".nv_fatbin")),
        ("relocatable.o", Some("__nv_relfatbin")),
        ("libshared.so", Some(".nv_fatbin")),
        ("libstatic.a", None),
    ] {
        let data = read(name);
        let contents = open(&data).unwrap();
        assert!(contents.entries.iter().all(|entry| entry.section == section), "{name}");
    }
    let data = read("second.ptx");
    let contents = open(&data).unwrap();
    assert_eq!(contents.entries[0].target, Some(target("sm_80")));
    assert_eq!(contents.entries[0].version, Some((9, 5)));
    assert_eq!(contents.entries[0].ptx().unwrap(), &data[..]);
}

#[test]
fn lto_ir_is_listed_and_explained() {
    let data = read("lto.fatbin");
    let contents = open(&data).unwrap();
    let lto = contents.entries.iter().find(|entry| entry.kind == EntryKind::LtoIr).unwrap();
    assert!(matches!(lto.payload(), Err(ContainerError::LtoIr { .. })));
    assert_eq!(best_ptx(&contents, None).unwrap().reason, Reason::Only);
}

/// `cuobjdump -res-usage`, as the reader sees the same cubin.
fn usage(cubin: &Cubin) -> Vec<String> {
    let banks = |banks: &[ConstantBank]| -> String {
        banks.iter().rev().map(|bank| format!(" CONSTANT[{}]:{}", bank.bank, bank.bytes)).collect()
    };
    let mut lines: Vec<_> = cubin
        .kernels
        .iter()
        .map(|kernel| {
            format!(
                "{} REG:{} STACK:{} SHARED:{} LOCAL:{}{}",
                kernel.name,
                kernel.registers,
                kernel.stack_bytes.map_or("UNKNOWN".to_owned(), |bytes| bytes.to_string()),
                kernel.shared_bytes,
                kernel.local_bytes,
                banks(&kernel.constant_banks),
            )
        })
        .collect();
    lines.push(banks(&cubin.constant_banks).trim().to_owned());
    lines.sort();
    lines
}

/// The same lines out of the tool's output.
fn usage_by_cuobjdump(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut name = "";
    for line in text.lines().map(str::trim) {
        if let Some(function) = line.strip_prefix("Function ") {
            name = function.trim_end_matches(':');
        } else if line.starts_with("REG:") {
            lines.push(format!("{name} {}", line.split(" TEXTURE").next().unwrap()));
        } else if line.starts_with("GLOBAL:") {
            let words = line.split(' ').filter(|word| word.starts_with("CONSTANT"));
            lines.push(words.collect::<Vec<_>>().join(" "));
        }
    }
    lines.sort();
    lines
}

#[test]
fn cubin_facts_equal_the_resource_usage_that_cuobjdump_prints() {
    for (file, sm) in [
        ("kernels", "75"),
        ("kernels", "80"),
        ("kernels", "90a"),
        ("kernels", "120"),
        ("cuda12", "60"),
        ("cuda12", "90a"),
        ("cuda12", "100a"),
    ] {
        let name = format!("{file}-{sm}.cubin");
        let data = read(&name);
        let contents = open(&data).unwrap();
        let cubin = contents.entries[0].cubin().unwrap();
        assert_eq!(contents.entries[0].target, Some(target(sm)));
        let text = folder().join("expected").join(&name).join("usage.txt");
        assert_eq!(usage(&cubin), usage_by_cuobjdump(&fs::read_to_string(text).unwrap()), "{sm}");
    }
}

#[test]
fn a_cubin_tells_parameters_and_launch_bounds() {
    let data = read("kernels-80.cubin");
    let cubin = Cubin::parse(&data).unwrap();
    let param = |offset, bytes| CubinParam { offset, bytes };
    let scale = cubin.kernel("scale").unwrap();
    assert_eq!(scale.params, [param(0, 8), param(8, 8), param(16, 4)]);
    assert_eq!((scale.param_base, scale.param_bytes), (0x160, 20));
    assert_eq!(scale.max_threads, Some([96, 1, 1]));
    assert_eq!(scale.shared_bytes, 512);
    let frame = cubin.kernel("frame").unwrap();
    assert_eq!(frame.params, [param(0, 8), param(8, 16), param(24, 1)]);
    assert_eq!((frame.frame_bytes, frame.stack_bytes), (8, Some(8)));
    assert_eq!(frame.max_threads, None);
    assert!(cubin.kernel("absent").is_none());
    let data = read("cuda12-90a.cubin");
    let cubin = Cubin::parse(&data).unwrap();
    let old = cubin.kernel("old").unwrap();
    assert_eq!(old.params, [param(0, 8), param(8, 4)]);
    assert_eq!((old.param_base, old.param_bytes), (0x210, 12));
    assert_eq!(old.required_threads, Some([32, 2, 1]));
}

#[test]
fn the_best_ptx_follows_the_rule() {
    // PTX for sm_80, sm_90a and sm_120f.
    let data = read("several.fatbin");
    let contents = open(&data).unwrap();
    for (asked, chosen, reason) in [
        (None, "sm_120f", Reason::Highest),
        (Some("sm_80"), "sm_80", Reason::Exact),
        (Some("sm_89"), "sm_80", Reason::HighestBelow(target("sm_89"))),
        (Some("sm_90"), "sm_90a", Reason::Exact),
        (Some("sm_90a"), "sm_90a", Reason::Exact),
        // Code for sm_90a runs on nothing else.
        (Some("sm_100"), "sm_80", Reason::HighestBelow(target("sm_100"))),
        (Some("sm_121"), "sm_120f", Reason::HighestBelow(target("sm_121"))),
        (Some("sm_20"), "sm_80", Reason::NoneRuns(target("sm_20"))),
    ] {
        let selection = best_ptx(&contents, asked.map(target)).unwrap();
        assert_eq!(selection.entry.target, Some(target(chosen)), "{asked:?}");
        assert_eq!(selection.reason, reason, "{asked:?}");
    }
    let text = best_ptx(&contents, Some(target("sm_89"))).unwrap().to_string();
    assert_eq!(text, "PTX for sm_80, the highest of 3 that sm_89 accepts");
}

#[test]
fn a_library_has_one_ptx_for_each_of_its_modules() {
    let data = read("libshared.so");
    let contents = open(&data).unwrap();
    assert_eq!(best_ptx_of_each_module(&contents, None).unwrap().len(), 2);
    let scale = best_ptx_with_kernel(&contents, None, "scale").unwrap();
    assert_eq!(scale.entry.module, 1);
    assert_eq!(best_ptx_with_kernel(&contents, None, "second").unwrap().entry.module, 0);
    let absent = best_ptx_with_kernel(&contents, None, "sca").unwrap_err();
    assert_eq!(
        absent.to_string(),
        "none of the 2 PTX modules of the file has a kernel named `sca`"
    );
}

#[test]
fn a_file_with_only_machine_code_is_explained() {
    let data = read("machine-only.fatbin");
    let error = best_ptx(&open(&data).unwrap(), None).unwrap_err();
    let (cubins, lto_ir) = (vec![target("sm_75"), target("sm_80")], vec![]);
    assert_eq!(error, SelectError::NoPtx { cubins, lto_ir });
    let text = error.to_string();
    assert!(text.contains("only machine code for sm_75, sm_80. "), "{text}");
    assert!(text.contains("-gencode arch=compute_80,code=compute_80`"), "{text}");
    let data = read("lto-only.fatbin");
    let text = best_ptx(&open(&data).unwrap(), None).unwrap_err().to_string();
    assert!(text.contains("only LTO-IR (encrypted compiler code) for sm_80"), "{text}");
}

#[test]
fn files_without_device_code_are_explained() {
    for (data, expected) in [
        (&b""[..], "the file is empty"),
        (b"PK\x03\x04....", "unpack it and give a file in it"),
        (b"__global__ void k() {}", "it is CUDA C++"),
        (b"hello", "no line begins with `.version`"),
        (b"\xff\xfe\xfd", "its format is not known"),
        (b"\x7fELF", "the ELF file is damaged"),
    ] {
        let text = open(data).unwrap_err().to_string();
        assert!(text.contains(expected), "{text}");
    }
    let host = std::env::current_exe().unwrap();
    let error = open(&fs::read(host).unwrap()).unwrap_err();
    assert!(matches!(error, ContainerError::NoDeviceCode { .. }), "{error}");
}

#[test]
fn ptx_text_is_recognised_behind_comments() {
    let data = b"//\n/* a */ .version 7.8\n.target sm_90a, debug\n\0\0";
    let contents = open(data).unwrap();
    let entry = &contents.entries[0];
    assert_eq!((entry.target, entry.version), (Some(target("sm_90a")), Some((7, 8))));
    assert_eq!(entry.ptx().unwrap(), &data[..data.len() - 2]);
}

#[test]
fn containers_outside_the_known_sections_are_found() {
    let mut data = b"MZ some other format\0".to_vec();
    // The magic number alone, as in the code of the CUDA runtime, is not a container.
    data.extend(0xBA55_ED50_u32.to_le_bytes());
    data.extend(b"padding");
    data.extend(read("mode-size.fatbin"));
    let contents = open(&data).unwrap();
    assert_eq!(contents.kind, FileKind::Other);
    assert_eq!(extracted_here(&contents), extracted_by_cuobjdump("mode-size.fatbin"));
    // A host file whose table of sections is gone.
    let mut stripped = read("libshared.so");
    stripped[0x28..0x30].fill(0xff);
    assert_eq!(extracted_here(&open(&stripped).unwrap()), extracted_by_cuobjdump("libshared.so"));
}

mod hostile {
    //! Nothing that a file says may make the reader panic or take memory without bound.

    use super::*;

    /// Everything that can be asked of a file.
    fn exercise(data: &[u8]) {
        let Ok(contents) = open(data) else { return };
        for entry in &contents.entries {
            let _ = entry.payload();
            let _ = entry.ptx_text();
            let _ = entry.cubin();
        }
        let _ = best_ptx(&contents, Some(Target::new(80))).map(|chosen| chosen.to_string());
        let _ = best_ptx_with_kernel(&contents, None, "scale");
    }

    /// Where to damage a file: at all bytes of a small one; in a larger one at the headers, which
    /// ELF keeps at both ends, and at some of the bytes between them.
    fn places(data: &[u8]) -> Vec<usize> {
        let tail = data.len().saturating_sub(1024);
        let all = data.len() <= 4096;
        (0..data.len()).filter(|&at| all || at < 512 || at >= tail || at % 23 == 0).collect()
    }

    #[test]
    fn truncation_anywhere_is_survived() {
        for (_, data) in files() {
            for at in places(&data) {
                exercise(&data[..at]);
            }
        }
    }

    #[test]
    fn a_truncated_fatbin_is_an_error() {
        let data = read("mode-none.fatbin");
        for length in 1..data.len() {
            assert!(open(&data[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn a_static_library_that_is_cut_off_says_so() {
        let data = read("libstatic.a");
        let first = open(&data).unwrap().entries[0].offset;
        let error = open(&data[..first + 100]).unwrap_err();
        assert!(matches!(error, ContainerError::Truncated { .. }), "{error}");
    }

    #[test]
    fn a_flipped_byte_anywhere_is_survived() {
        for (_, mut data) in files() {
            for at in places(&data) {
                let original = data[at];
                data[at] = original ^ [0x01, 0x80, 0xff, 0x10, 0x08][at % 5];
                exercise(&data);
                data[at] = original;
            }
        }
    }

    #[test]
    fn huge_numbers_anywhere_are_survived() {
        for (_, mut data) in files() {
            for at in (0..data.len()).step_by(if data.len() <= 4096 { 4 } else { 24 }) {
                for value in [u64::MAX, i64::MAX as u64, 0xffff_fff0, 0x7fff_ffff, 1 << 40] {
                    let end = data.len().min(at + 8);
                    let original = data[at..end].to_vec();
                    data[at..end].copy_from_slice(&value.to_le_bytes()[..original.len()]);
                    exercise(&data);
                    data[at..end].copy_from_slice(&original);
                }
            }
        }
    }

    /// A fatbin of one entry.
    fn fatbin(kind: u16, flags: u64, payload: &[u8], size: u64) -> Vec<u8> {
        let mut padded = payload.to_vec();
        padded.resize(padded.len().next_multiple_of(8), 0);
        let mut data = Vec::new();
        data.extend(0xBA55_ED50_u32.to_le_bytes());
        data.extend(1_u16.to_le_bytes());
        data.extend(16_u16.to_le_bytes());
        data.extend((64 + padded.len() as u64).to_le_bytes());
        data.extend(kind.to_le_bytes());
        data.extend(0x101_u16.to_le_bytes());
        data.extend(64_u32.to_le_bytes());
        data.extend((padded.len() as u64).to_le_bytes());
        data.extend((payload.len() as u32).to_le_bytes());
        data.extend(0_u32.to_le_bytes());
        data.extend(5_u16.to_le_bytes());
        data.extend(9_u16.to_le_bytes());
        data.extend(80_u32.to_le_bytes());
        data.extend(0_u64.to_le_bytes());
        data.extend(flags.to_le_bytes());
        data.extend(0_u64.to_le_bytes());
        data.extend(size.to_le_bytes());
        data.extend(padded);
        data
    }

    /// A Zstandard frame of `blocks` blocks, each four bytes that stand for 128 KiB of zeros.
    fn zstd_zeros(blocks: u32) -> Vec<u8> {
        // Magic number, no content size, a window of 128 KiB.
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
        for block in 0..blocks {
            let last = u32::from(block + 1 == blocks);
            let header = (128 << 10) << 3 | 1 << 1 | last;
            frame.extend(&header.to_le_bytes()[..3]);
            frame.push(0);
        }
        frame
    }

    fn payload_error(data: &[u8], limits: Limits) -> ContainerError {
        let contents = open_with(data, limits).unwrap();
        contents.entries[0].payload().unwrap_err()
    }

    #[test]
    fn zstd_bombs_are_refused() {
        const BLOCK: u64 = 128 << 10;
        let bomb = zstd_zeros(8000);
        // An honest header: a gigabyte is too much.
        let data = fatbin(1, 0x8011, &bomb, 8000 * BLOCK);
        let error = payload_error(&data, Limits::default());
        assert!(matches!(error, ContainerError::TooLarge { .. }), "{error}");
        // Within the size, but beyond belief.
        let data = fatbin(1, 0x8011, &zstd_zeros(1024), 1024 * BLOCK);
        let error = payload_error(&data, Limits::default());
        assert!(matches!(error, ContainerError::Ratio { .. }), "{error}");
        // A header that lies: decompression stops behind the claimed size.
        let data = fatbin(1, 0x8011, &bomb, 1000);
        let error = payload_error(&data, Limits::default());
        let stopped = ContainerError::SizeMismatch {
            codec: Compression::Zstd,
            offset: 80,
            claimed: 1000,
            actual: 1001,
        };
        assert_eq!(error, stopped);
        // Small ones are what they are.
        let data = fatbin(1, 0x8011, &zstd_zeros(8), 8 * BLOCK);
        assert_eq!(open(&data).unwrap().entries[0].payload().unwrap().len() as u64, 8 * BLOCK);
    }

    #[test]
    fn lz4_bombs_are_refused() {
        let zeros = lz4_flex::block::compress(&vec![0; 32 << 20]);
        let data = fatbin(1, 0x2011, &zeros, 32 << 20);
        let limits = Limits { payload_bytes: 16 << 20, ..Limits::default() };
        let error = payload_error(&data, limits);
        assert!(matches!(error, ContainerError::TooLarge { .. }), "{error}");
        let limits = Limits { ratio: 100, ..Limits::default() };
        let error = payload_error(&data, limits);
        assert!(matches!(error, ContainerError::Ratio { .. }), "{error}");
        // Lies in both directions.
        for claimed in [1000, 16 << 20, 1 << 40] {
            let data = fatbin(1, 0x2011, &zeros, claimed);
            payload_error(&data, Limits::default());
        }
        let error = payload_error(&fatbin(1, 0x2011, b"\x10a", 1 << 20), Limits::default());
        assert!(error.to_string().contains("more than LZ4 can express"), "{error}");
    }

    #[test]
    fn a_window_of_terabytes_is_refused() {
        let mut frame = zstd_zeros(1);
        frame[5] = 0xff;
        let error = payload_error(&fatbin(1, 0x8011, &frame, 128 << 10), Limits::default());
        assert!(matches!(error, ContainerError::Decompress { .. }), "{error}");
    }

    #[test]
    fn a_container_that_contains_itself_is_an_error() {
        // A bundle whose table of members is its own header.
        let mut data = fatbin(256, 0x11, &[0; 64], 0);
        data[16 + 20..16 + 24].copy_from_slice(&4_u32.to_le_bytes());
        assert!(matches!(open(&data), Err(ContainerError::Bundle { .. })));
        // An entry whose payload is the container again, to the depth of the file.
        let mut data = fatbin(1, 0x11, b"x", 0);
        for _ in 0..1000 {
            data = fatbin(256, 0x11, &data, 0);
        }
        assert!(matches!(open(&data), Err(ContainerError::Bundle { .. })));
        // Sizes that would lead back to the beginning.
        let mut data = fatbin(1, 0x11, b"x", 0);
        data[24..32].copy_from_slice(&(u64::MAX - 79).to_le_bytes());
        assert!(matches!(open(&data), Err(ContainerError::Truncated { .. })));
        data[20..24].copy_from_slice(&0_u32.to_le_bytes());
        assert!(matches!(open(&data), Err(ContainerError::HeaderSize { .. })));
    }

    #[test]
    fn a_payload_compressed_in_an_unknown_way_says_so() {
        let error = payload_error(&fatbin(1, 0x11, b"abc", 100), Limits::default());
        assert!(error.to_string().contains("-compress-mode=none"), "{error}");
    }
}
