//! What the tests share: a kernel's text, a launch under all checks, and its findings in one line
//! each.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]
#![allow(dead_code, reason = "each test program uses a part")]

use std::fmt::Write as _;
use std::sync::Arc;

use gpucast_interpreter::{
    Argument, DeviceMemory, Launch, Options, Program, RunError, Silent, run,
};
use gpucast_sanitizer::{Buffer, Checks, DeviceShadow, Finding, Findings, Party, Sanitizer};

/// A module around kernels.
pub(crate) fn module(text: &str) -> String {
    format!(".version 8.8\n.target sm_90\n.address_size 64\n{text}")
}

/// A kernel `k` that takes the buffer `out`; the body's first line is line 8 of the text.
pub(crate) fn kernel(body: &str) -> String {
    module(&format!(
        ".visible .entry k(.param .u64 out) {{ .shared .align 16 .b8 tile[1024]; .shared .align 8 .b64 bar;\n\
         .reg .b32 %t, %r<16>; .reg .b64 %out, %at, %d<8>; .reg .pred %p, %q;\n\
         ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %at, %t, 4, %out;\n\
         shl.b32 %r15, %t, 2; mov.u32 %r14, tile; add.u32 %r15, %r15, %r14;\n{body}\n}}\n"
    ))
}

/// How to launch.
#[derive(Clone)]
pub(crate) struct Shape {
    pub(crate) grid: u32,
    pub(crate) threads: u32,
    pub(crate) cluster: Option<[u32; 3]>,
    /// Whether the host has filled `out`, of 1 KiB.
    pub(crate) filled: bool,
    pub(crate) checks: Checks,
}

impl Shape {
    pub(crate) fn new(threads: u32) -> Self {
        Self { grid: 1, threads, cluster: None, filled: true, checks: Checks::all() }
    }
}

/// Launch kernel `k` of `text` on a pool of `threads` threads.
pub(crate) fn launch_on(
    text: &str,
    shape: &Shape,
    threads: usize,
) -> (Findings, Result<Vec<u32>, RunError>) {
    let module = gpucast_ptx_frontend::load(text)
        .unwrap_or_else(|problems| panic!("{:?}\n{text}", problems[0].message));
    let program = Program::new(&module, text, "k").unwrap_or_else(|error| panic!("{error}"));
    let mut memory = DeviceMemory::new();
    let address = memory.allocate("out", 1024).unwrap();
    let buffer = Buffer { name: "out".to_owned(), address, bytes: 1024, initialised: shape.filled };
    let device = Arc::new(DeviceShadow::new(vec![buffer]));
    let launch = Launch {
        grid: [shape.grid, 1, 1],
        block: [shape.threads, 1, 1],
        cluster: shape.cluster,
        dynamic_shared_bytes: 0,
        arguments: vec![Argument::Address(address)],
    };
    let options = Options { instruction_budget: 1 << 20, ..Options::default() };
    let options = Sanitizer::options(shape.checks, options);
    let mut sanitizer = Sanitizer::new(&program, &launch, shape.checks, &device);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let outcome =
        pool.install(|| run(&program, &launch, &mut memory, &mut sanitizer, &options, &Silent));
    let fault = match &outcome {
        Err(RunError::Fault(fault)) => Some(&**fault),
        Err(error) => panic!("{error}"),
        Ok(_) => None,
    };
    let findings = sanitizer.finish(fault);
    let words = memory.bytes("out").unwrap().chunks_exact(4);
    let words = words.map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    (findings, outcome.map(|_| words))
}

fn party(party: &Party) -> String {
    let mut text = String::new();
    if party.cta != [0; 3] {
        let _ = write!(text, "cta {} ", party.cta[0]);
    }
    match party.thread {
        Some([x, ..]) => text += &format!("thread {x}"),
        None => text += "somebody",
    }
    if let Some(site) = &party.site {
        let _ = write!(text, " line {}", site.line);
    }
    text
}

/// A finding in one line: kind, occurrences, who, with whom, where.
pub(crate) fn line(finding: &Finding) -> String {
    let example = &finding.example;
    let mut text = format!("{} x{}: {}", finding.kind.name(), finding.count, party(&example.party));
    if let gpucast_sanitizer::Kind::Race(_, between) = finding.kind {
        text = text.replacen(' ', &format!(" {between:?} "), 1);
    }
    if let Some(other) = &example.other {
        let _ = write!(text, ", {}", party(other));
    }
    if let Some(place) = &example.place {
        let _ = write!(text, ", {} {:?}", place.bytes, place.space);
        if let Some((name, offset)) = &place.object {
            let _ = write!(text, " {name}{offset:+}");
        }
    }
    if let Some(detail) = &example.detail {
        let _ = write!(text, ", {detail}");
    }
    text
}

/// The findings of kernel `k`, the same with one thread and with two.
#[track_caller]
pub(crate) fn found_in(text: &str, shape: &Shape) -> Vec<String> {
    let (findings, outcome) = launch_on(text, shape, 1);
    assert_eq!(findings, launch_on(text, shape, 2).0, "findings depend on the number of threads");
    if let Err(error) = outcome {
        assert!(findings.explains_fault, "{error}");
    }
    findings.findings.iter().map(line).collect()
}

/// The findings of a kernel with this body.
#[track_caller]
pub(crate) fn found(body: &str, threads: u32) -> Vec<String> {
    found_in(&kernel(body), &Shape::new(threads))
}
