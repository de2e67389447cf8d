//! `gpucast man`: the manual pages, made of the same text as `--help`.

use std::fs;
use std::path::Path;

use clap::CommandFactory as _;
use clap_mangen::Man;

use crate::cli::Cli;
use crate::failure::{Failure, Report};
use crate::output::Output;

pub(crate) fn run(folder: Option<&Path>) -> Result<(), Failure> {
    match folder {
        None => {
            let mut page = Vec::new();
            let written = Man::new(Cli::command()).render(&mut page);
            written.map_err(|error| Report::new(format!("cannot write the page: {error}")))?;
            Output::open(None)?.write_bytes(&page)
        }
        Some(folder) => {
            let cannot = |error| Report::file("write the pages into", folder, &error);
            fs::create_dir_all(folder).map_err(cannot)?;
            Ok(clap_mangen::generate_to(Cli::command(), folder).map_err(cannot)?)
        }
    }
}
