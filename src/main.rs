//! `gpucast`: the program, whose code is the library beside this file.

use std::process::ExitCode;

fn main() -> ExitCode {
    gpucast::run(None).into()
}
