//! Python packages that use CUDA's driver interface, unchanged under `gpucast exec`. Those that the
//! Python of `GPUCAST_PYTHON` or `python3` lacks are skipped, and the tests say so.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::process::Command;

use crate::gpucast::{command, inputs, outcome};

/// Runs a script with one of its packages on two GPUs, each with a table of its launches.
fn run(script: &str, packages: &str) {
    let python = std::env::var("GPUCAST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let imports = format!("import {packages}");
    let there = Command::new(&python).args(["-c", &imports]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: {python} lacks one of {packages}");
        return;
    }
    for gpu in ["h100-sxm", "rtx-2080"] {
        let mut gpucast = command(&format!("exec --gpu {gpu} --mode sample --"));
        gpucast.arg(&python).arg(inputs().join("clients").join(script));
        // Python looks for libraries with the linker of the path.
        gpucast.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        // Caches of compiled kernels would be those of the user.
        let home = tempfile::tempdir().unwrap();
        gpucast.env("HOME", home.path()).env("XDG_CACHE_HOME", home.path());
        let ran = outcome(gpucast);
        assert_eq!((ran.status, ran.stdout.as_str()), (0, "right\n"), "{gpu}: {}", ran.stderr);
        assert!(ran.stderr.contains("launches on "), "{}", ran.stderr);
    }
}

#[test]
fn operators_of_tinygrad_are_right() {
    run("tinygrad_operators.py", "numpy, tinygrad, nvidia.cuda_nvrtc");
}

#[test]
fn kernels_of_triton_are_right() {
    run("triton_launcher.py", "numpy, triton");
}

#[test]
fn kernels_of_numba_are_right() {
    run("numba_kernels.py", "numpy, numba_cuda, nvidia.cuda_nvrtc");
}
