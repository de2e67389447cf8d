//! `gpucast-serve`: the program, whose code is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    gpucast_serve::run().into()
}
