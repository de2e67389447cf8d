//! A stand-in for `ptxas`, for compilers that call it inside the program.
//!
//! Triton gives its PTX to `ptxas` and loads the machine code, which nobody executes here. The
//! stand-in hands the PTX on as it is, and the driver's functions load that.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Report;

/// The environment variables in which Triton looks for `ptxas`: the second for Blackwell.
const VARIABLES: [&str; 2] = ["TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"];

/// Triton writes PTX for the release that the stand-in claims to be of; this one knows all GPUs.
/// Its caches are kept by the whole line, so machine code and PTX are not taken for each other.
const STAND_IN: &str = r#"#!/bin/sh
# Stands for ptxas under `gpucast exec`: the PTX is what runs.
from= to=
while [ $# -gt 0 ]; do
    case $1 in
    --version) echo "the stand-in of gpucast for ptxas, release 12.9"; exit ;;
    -o) to=$2; shift ;;
    *.ptx) from=$1 ;;
    esac
    shift
done
exec cp -- "$from" "$to"
"#;

/// Writes the stand-in into `folder`, and lets a program find it.
pub(super) fn provide(folder: &Path, command: &mut Command) -> Result<(), Report> {
    let path = write(folder).map_err(|error| {
        Report::new(format!("cannot write a stand-in for ptxas into {}: {error}", folder.display()))
    })?;
    command.envs(VARIABLES.map(|variable| (variable, &path)));
    Ok(())
}

fn write(folder: &Path) -> std::io::Result<PathBuf> {
    let path = folder.join("ptxas");
    fs::write(&path, STAND_IN)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    Ok(path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_stand_in_hands_ptx_on_and_has_a_release() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("true");
        provide(folder.path(), &mut command).unwrap();
        assert_eq!(command.get_envs().count(), 2);
        let (ptx, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.ptx.o"));
        fs::write(&ptx, "of a kernel").unwrap();
        let ptxas = folder.path().join("ptxas");
        let options = ["-lineinfo", "-v", "--regAllocOptLevel=2", "--gpu-name=sm_90a"];
        let status =
            Command::new(&ptxas).args(options).arg(&ptx).arg("-o").arg(&cubin).status().unwrap();
        assert!(status.success());
        assert_eq!(fs::read_to_string(cubin).unwrap(), "of a kernel");
        let version = Command::new(&ptxas).arg("--version").output().unwrap();
        assert!(String::from_utf8(version.stdout).unwrap().contains("release 12.9"));
    }
}
