//! `gpucast classroom`: the engine of the classroom's page, for one question. With it the page has
//! the program's speed and its compiler.

use std::sync::Arc;
use std::time::Duration;

use gpucast_forecast::input::module_text;
use gpucast_toolchain::compiler::Installed;
use gpucast_web::{Engine, Limits};

use crate::cli::classroom::Classroom;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::Output;

pub(crate) fn run(arguments: &Classroom) -> Result<(), Failure> {
    let question = module_text::read_text(&arguments.question)?;
    let compiler = Installed::new(arguments.cuda_compiler.clone(), interrupt::stop());
    let limits =
        Limits { time: Duration::from_secs(arguments.time_limit), bytes: arguments.memory_limit };
    let mut engine = Engine::new(limits, Some(Arc::new(compiler)))?;
    Output::open(None)?.write(&engine.answer(&question.text, &|_, _| {}))
}
