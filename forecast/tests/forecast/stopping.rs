//! A supervisor ends runs.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use gpucast_forecast::{Argument, Failure, Kernel, LaunchOptions, Supervisor};

use crate::common::execute;

/// Stops when it has been asked so often.
struct Impatient {
    patience: u32,
    asked: AtomicU32,
}

impl Supervisor for Impatient {
    fn should_stop(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) >= self.patience
    }
}

/// A kernel of `ctas` CTAs whose body is `body`.
fn kernel(ctas: u32, body: &str) -> Kernel {
    let text = format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out) {{\n\
         .reg .b64 %d0; .reg .b32 %r0;\nld.param.u64 %d0, [out];\n{body}\nret;\n}}\n"
    );
    let options = LaunchOptions {
        kernel: Some("k".to_owned()),
        grid: Some([ctas, 1, 1]),
        block: Some([32, 1, 1]),
        arg: vec![Argument::u32_buffer(1).into()],
        ..LaunchOptions::default()
    };
    Kernel::from_ptx("k.ptx", &text, &options).unwrap()
}

fn is_stopped(kernel: &Kernel, patience: u32) -> bool {
    let supervisor = Impatient { patience, asked: AtomicU32::new(0) };
    matches!(execute(kernel, &supervisor), Err(Failure::Stopped))
}

#[test]
fn an_endless_loop_is_stopped_long_before_its_budget() {
    let started = Instant::now();
    assert!(is_stopped(&kernel(1, "loop:\nbra loop;"), 2));
    // The loop waits for what another CTA would write, so that CTAs run in order.
    let waiting = "loop:\nld.volatile.global.u32 %r0, [%d0];\nbra loop;";
    assert!(is_stopped(&kernel(4, waiting), 4));
    assert!(started.elapsed() < Duration::from_secs(60), "the budget alone ends it");
}

#[test]
fn a_grid_is_stopped_between_its_ctas() {
    assert!(is_stopped(&kernel(1 << 20, ""), 100));
    assert!(!is_stopped(&kernel(8, ""), 1000), "nobody asked for the end");
}
