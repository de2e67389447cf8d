//! How fast texts are parsed and resolved: `throughput FILE…`, in MB/s of one core.
#![allow(clippy::print_stdout, reason = "the report is what this program is for")]

use std::time::Instant;

fn main() {
    let mut total = 0;
    let (mut parse, mut load) = (0.0, 0.0);
    for path in std::env::args().skip(1) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        total += text.len();
        let start = Instant::now();
        let (file, diagnostics) = gpucast_ptx_frontend::parse(&text);
        parse += start.elapsed().as_secs_f64();
        std::hint::black_box(file);
        drop(diagnostics);
        let start = Instant::now();
        let module = gpucast_ptx_frontend::load(&text);
        load += start.elapsed().as_secs_f64();
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
