//! Writes every PTX of containers into a folder: `extract FOLDER FILE…`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what was written and what could not be is what this program says"
)]

use std::path::Path;
use std::process::ExitCode;

use gpucast_ptx_frontend::container::open;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next() else { return ExitCode::FAILURE };
    let mut code = ExitCode::SUCCESS;
    for path in arguments {
        let stem = Path::new(&path).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let outcome = std::fs::read(&path).map_err(|error| error.to_string()).and_then(|data| {
            let contents = open(&data).map_err(|error| error.to_string())?;
            for (number, entry) in contents.ptx().enumerate() {
                let target = entry.target.map_or(String::new(), |target| format!(".{target}"));
                let name = format!("{stem}.{}{target}.ptx", number + 1);
                let text = entry.ptx().map_err(|error| error.to_string())?;
                std::fs::write(Path::new(&folder).join(&name), &text)
                    .map_err(|error| error.to_string())?;
                println!("{name}: {} bytes", text.len());
            }
            Ok(())
        });
        if let Err(error) = outcome {
            eprintln!("{path}: {error}");
            code = ExitCode::FAILURE;
        }
    }
    code
}
