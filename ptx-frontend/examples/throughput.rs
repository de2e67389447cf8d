//! How fast texts are parsed and resolved: `throughput FILE…`, in MB/s of one core.
#![allow(clippy::print_stdout, reason = "the report is what this program is for")]

use std::time::Instant;

/// Seconds that this thread has been on a core, where the system tells; else those on the clock.
fn seconds(since: Instant) -> f64 {
    let nanoseconds = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| since.elapsed().as_secs_f64(), |time| time / 1e9)
}

fn main() {
    let since = Instant::now();
    let mut total = 0;
    let (mut parse, mut load) = (0.0, 0.0);
    for path in std::env::args().skip(1) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        total += text.len();
        let start = seconds(since);
        let (file, diagnostics) = gpucast_ptx_frontend::parse(&text);
        parse += seconds(since) - start;
        std::hint::black_box(file);
        drop(diagnostics);
        let start = seconds(since);
        let module = gpucast_ptx_frontend::load(&text);
        load += seconds(since) - start;
        if let Err(diagnostics) = module {
            let index = gpucast_ptx_frontend::source::LineIndex::new(&text);
            for diagnostic in diagnostics.iter().take(3) {
                let at = index.position(&text, diagnostic.span.start);
                println!("{path}:{at}: {diagnostic}");
            }
        }
    }
    let megabytes = total as f64 / 1e6;
    println!(
        "{megabytes:.1} MB, parse {:.1} MB/s, load {:.1} MB/s",
        megabytes / parse,
        megabytes / load
    );
}
