//! What `gpucast doctor` finds.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::gpucast::{command, outcome};

/// Answers as ptxas of CUDA 12.9 does.
const PTXAS: &str = "#!/bin/sh
case $1 in
--version) echo 'Cuda compilation tools, release 12.9, V12.9.86' ;;
--help) echo \"Allowed values for this option: 'sm_90','sm_75','sm_121'.\" ;;
esac
";

#[test]
fn what_is_there_is_found_and_what_is_missing_has_a_remedy() {
    let home = tempfile::tempdir().unwrap();
    let (tools, cache) = (home.path().join("tools"), home.path().join("cache"));
    fs::create_dir(&tools).unwrap();
    fs::create_dir_all(cache.join("deep")).unwrap();
    fs::write(cache.join("deep/entry"), [0; 1_000_001]).unwrap();
    fs::write(tools.join("ptxas"), PTXAS).unwrap();
    fs::set_permissions(tools.join("ptxas"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(home.path().join("gpucast.toml"), "").unwrap();
    let mut program = command("doctor");
    program.current_dir(home.path()).env("PATH", &tools).env("GPUCAST_CACHE", &cache);
    program.env("XDG_CONFIG_HOME", home.path()).env("CUDA_HOME", home.path());
    let said = outcome(program);
    assert_eq!((said.status, said.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = said.stdout.lines().map(str::trim).collect();
    let ptxas =
        format!("found    ptxas         {}/ptxas (version 12.9, up to sm_121)", tools.display());
    assert!(lines.contains(&ptxas.as_str()), "{}", said.stdout);
    let after = |line: &str| {
        let at = lines.iter().position(|found| *found == line);
        lines[at.unwrap_or_else(|| panic!("no {line:?} in {}", said.stdout)) + 2]
    };
    assert_eq!(after("missing  NVRTC         not found"), "pip install nvidia-cuda-nvrtc-cu12");
    assert_eq!(after("missing  clang         not found"), "install clang");
    let kept = format!(
        "cache    {} (2 MB; GPUCAST_CACHE names another, and it may be removed)",
        cache.display()
    );
    assert!(lines.contains(&kept.as_str()), "{}", said.stdout);
    let project = format!("project  {}", home.path().join("gpucast.toml").display());
    assert!(lines.contains(&project.as_str()), "{}", said.stdout);
}
