//! A program `ncu`, for scripts that call Nsight Compute by its name.

use std::fs;
use std::path::Path;

use crate::failure::Report;

/// Writes it into `folder`: a script that calls this program.
pub(super) fn write(folder: &Path) -> Result<(), Report> {
    let path = folder.join("ncu");
    let own = std::env::current_exe()
        .map_err(|error| Report::new(format!("where this program is, is not known: {error}")))?;
    // A quote within single quotes ends them, stands alone, and begins them again.
    let own = own.display().to_string().replace('\'', "'\\''");
    let script = format!("#!/bin/sh\nexec '{own}' ncu \"$@\"\n");
    let written = fs::write(&path, script).and_then(|()| make_executable(&path));
    written.map_err(|error| Report::file("write", &path, &error))
}

fn make_executable(path: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}
