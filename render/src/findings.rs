//! Findings of a run's checks, as text and JSON.

use std::collections::BTreeMap;

use gpucast_forecast::Report;
use gpucast_forecast::input::cuda_source::CudaFile;
use gpucast_forecast::input::kernel_name::{demangled, readable};
use gpucast_forecast::number;
use gpucast_forecast::run::check::CheckedLaunch;
use gpucast_forecast::run::execute::Loaded;
use gpucast_forecast::{cuda_file, cuda_line};
use gpucast_ptx_frontend::types::StateSpace;
use gpucast_sanitizer::{
    Absence, Between, Check, Checks, Finding, Hazard, Kind, Party, Site, TouchedMemory,
};
use serde_json::{Value, json};

use crate::TextOrJson;
use crate::marks::Mark;

/// Extent of the checks: if all launches ran to their ends, nothing found means that nothing is
/// wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All launches ran to their ends.
    Complete,
    /// A launch was refused, or ended with a fault.
    EndedEarly,
}

/// The findings of all launches; empty text if nothing ran.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(
    launches: &[CheckedLaunch],
    loaded: &Loaded,
    checks: Checks,
    extent: Extent,
    format: TextOrJson,
) -> Result<String, Report> {
    match format {
        TextOrJson::Text => Ok(text(launches, loaded, checks, extent)),
        TextOrJson::Json => super::json::document(&json!({
            "schema": "gpucast.findings/1",
            "checks": names(checks),
            "complete": extent == Extent::Complete,
            "launches": launches.iter().map(|launch| json!({
                "kernel": launch.kernel,
                "finished": launch.finished,
                "findings": launch.findings.findings.iter()
                    .map(|finding| value(finding, loaded)).collect::<Vec<Value>>(),
                "more_occurrences": launch.findings.dropped,
            })).collect::<Vec<Value>>(),
        })),
    }
}

/// What checks look for, as titles of marks.
pub fn titles(checks: Checks) -> impl Iterator<Item = String> {
    names(checks).into_iter().map(title)
}

fn title(check: &str) -> String {
    format!("check {check}")
}

/// The findings of all launches at their lines: those of CUDA where the module names them.
#[must_use]
pub fn marks(
    launches: &[CheckedLaunch],
    loaded: &Loaded,
    files: &BTreeMap<u32, CudaFile>,
) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    for launch in launches {
        for finding in &launch.findings.findings {
            let mark = mark(finding, &launch.kernel, (loaded, files));
            // A finding that a launch repeats in its next repetition is not told again.
            if !marks.contains(&mark) {
                marks.push(mark);
            }
        }
    }
    marks
}

pub(crate) fn mark(
    finding: &Finding,
    kernel: &str,
    (loaded, files): (&Loaded, &BTreeMap<u32, CudaFile>),
) -> Mark {
    let example = &finding.example;
    let mut message = format!("{}. Kernel {}", sentence(finding), readable(kernel));
    message += &format!(", {}", party(&example.party));
    if let Some(other) = &example.other {
        message += &format!("; {} {}", role(finding.kind), party(other));
    }
    message.push('.');
    if let Some(place) = &example.place {
        message += &format!(" It is about {}.", memory(place));
    }
    if let Some(hint) = hint(finding) {
        message += &format!(" Help: {hint}.");
    }
    let site = example.party.site.as_ref();
    let own = site.and_then(|site| loaded.module.own_place(site.location?));
    let own = own.filter(|own| own.line > 0);
    let file = own.and_then(|own| Some(files.get(&own.file)?.name.as_str()));
    let file = file.unwrap_or(&loaded.source.name);
    let check = finding.kind.check();
    Mark {
        rule: finding.kind.name().to_owned(),
        title: title(check.name()),
        message,
        file: file.replace('\\', "/"),
        line: own.map(|own| own.line).or_else(|| site.map(|site| site.line)),
    }
}

fn names(checks: Checks) -> Vec<&'static str> {
    Check::ALL.into_iter().filter(|&check| checks.has(check)).map(Check::name).collect()
}

fn text(launches: &[CheckedLaunch], loaded: &Loaded, checks: Checks, extent: Extent) -> String {
    let mut text = String::new();
    if launches.is_empty() && extent == Extent::EndedEarly {
        return text;
    }
    let (mut findings, mut occurrences) = (0_u64, 0);
    // A finding that a launch repeats in its next repetition is not told again.
    let mut told: Vec<(&str, Kind, Option<&Site>, Option<&Site>)> = Vec::new();
    for launch in launches {
        occurrences += launch.findings.dropped;
        for finding in &launch.findings.findings {
            occurrences += finding.count;
            let other = finding.example.other.as_ref().and_then(|party| party.site.as_ref());
            let site = finding.example.party.site.as_ref();
            let key = (launch.kernel.as_str(), finding.kind, site, other);
            if told.contains(&key) {
                continue;
            }
            told.push(key);
            findings += 1;
            text += &super::diagnostic::plain(&report(finding, &launch.kernel, loaded));
        }
    }
    let mut names = names(checks).join(", ");
    if extent == Extent::EndedEarly {
        names += " until the run ended early";
    }
    text += &match findings {
        0 => format!("checked {names}: nothing found\n"),
        _ => {
            let plural = |n: u64| if n == 1 { "" } else { "s" };
            let (these, those) = (plural(findings), plural(occurrences));
            let occurrences = number::count(occurrences);
            format!("checked {names}: {findings} finding{these}, {occurrences} occurrence{those}\n")
        }
    };
    text
}

/// A finding as a sentence with the instruction quoted.
pub(crate) fn report(finding: &Finding, kernel: &str, loaded: &Loaded) -> Report {
    let example = &finding.example;
    let message = format!("{}: {}", finding.kind.check(), sentence(finding));
    let mut report = match &example.party.site {
        Some(site) => loaded.source.report(site.span.range(), message),
        None => Report::new(message),
    };
    report = report.fact(format!("kernel {}, {}", readable(kernel), party(&example.party)));
    let location = example.party.site.as_ref().and_then(|site| site.location);
    if let Some(location) = location {
        report = report.fact(cuda_line(loaded, location));
    }
    if let Some(other) = &example.other {
        let mut fact = format!("{} {}", role(finding.kind), party(other));
        if let Some(there) = other.site.as_ref().and_then(|site| site.location) {
            let same_file = location.is_some_and(|location| location.file == there.file);
            fact += &match same_file {
                true => format!(", CUDA line {}", there.line),
                false => format!(", {}", cuda_line(loaded, there)),
            };
        }
        report = report.fact(fact);
    }
    if let Some(place) = &example.place {
        report = report.fact(memory(place));
    }
    if finding.count > 1 {
        let more = number::count(finding.count);
        report = report.fact(format!("{more} times; this is the first"));
    }
    report.maybe_hint(hint(finding).map(str::to_owned))
}

fn sentence(finding: &Finding) -> String {
    let sentence = match finding.kind {
        Kind::Race(hazard, between) => {
            let sentence = race(hazard, between);
            return match &finding.example.detail {
                None => sentence,
                Some(detail) => format!("{sentence}: {detail}"),
            };
        }
        Kind::ReadsLane(absence) => reads_lane(absence),
        Kind::OutOfBounds => "access out of bounds",
        Kind::Misaligned => "misaligned access",
        Kind::WrongMemory => "access to memory of the wrong kind",
        Kind::HeapOutOfBounds => "access to the device heap outside every allocated block",
        Kind::BadFree => "free of something that is no block",
        Kind::Uninitialised => "read of memory that nothing has written",
        Kind::ColumnsLeft => "columns of tensor memory that nobody frees",
        Kind::ExitedBeforeBarrier => {
            "threads have exited before a barrier that all threads of the block must reach"
        }
        Kind::DivergentBarrier => "only some lanes of a warp are at this aligned barrier",
        Kind::NotInMask => "a thread is not in the mask of lanes that it gives",
        Kind::MissingLanes => {
            "a lane that the mask names exits without having executed the instruction"
        }
        Kind::DifferingMasks => "lanes that execute the instruction together give different masks",
        Kind::DifferingCounts => "threads meet at one barrier with different numbers of threads",
        Kind::UsedAfterExit => {
            "use of the shared memory of a block of the cluster that may have exited by then"
        }
        Kind::Deadlock => "threads wait for others that will not come",
        Kind::InvalidBarrier => "invalid use of a barrier",
    };
    match &finding.example.detail {
        None => sentence.to_owned(),
        // A fault says all by itself.
        Some(detail) if finding.example.is_fault => detail.clone(),
        Some(detail) => format!("{sentence}: {detail}"),
    }
}

fn reads_lane(absence: Absence) -> &'static str {
    match absence {
        Absence::OutsideMask => "shuffle reads a lane that is not in the mask",
        Absence::Exited => "shuffle reads a lane that has exited",
        Absence::NoThread => "shuffle reads a lane that the block has no thread for",
        Absence::Inactive => "shuffle reads a lane that does not execute it",
    }
}

fn race(hazard: Hazard, between: Between) -> String {
    let what = match hazard {
        Hazard::ReadAfterWrite => "read after write",
        Hazard::WriteAfterRead => "write after read",
        Hazard::WriteAfterWrite => "write after write",
    };
    let whose = match between {
        Between::Lanes => "by another lane of the warp without bar.warp.sync between them",
        Between::OneInstruction => "of another value by another lane of the same instruction",
        Between::Warps => "by another warp without a barrier between them",
        Between::Ctas => "by another block of the cluster without a barrier between them",
        Between::PendingCopy => "by a cp.async that has not been waited for",
        Between::BulkCopy => "by an asynchronous copy whose mbarrier was not waited for",
        Between::PendingRead => "by an asynchronous operation whose group was not waited for",
        Between::PendingTransfer => "by a transfer of tensor memory that was not waited for",
        Between::TensorCores => "by the tensor cores, whose commit was not waited for",
    };
    format!("{what} {whose}")
}

/// Returns the relation of the other party to the first.
fn role(kind: Kind) -> &'static str {
    match kind {
        Kind::Race(Hazard::WriteAfterRead, _) => "the read:",
        Kind::Race(..) => "the other write:",
        Kind::ExitedBeforeBarrier => "has exited:",
        Kind::DivergentBarrier => "is elsewhere:",
        Kind::MissingLanes | Kind::UsedAfterExit => "exits:",
        Kind::ReadsLane(Absence::Exited) => "has exited:",
        Kind::ReadsLane(_) => "the lane that is read:",
        Kind::DifferingMasks | Kind::DifferingCounts => "the other:",
        _ => "and",
    }
}

fn triple([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}

fn party(party: &Party) -> String {
    let mut text = format!("CTA {}", triple(party.cta));
    if let Some(thread) = party.thread {
        text += &format!(", thread {}", triple(thread));
    }
    if let Some(site) = &party.site {
        text += &format!(", PTX line {}", site.line);
    }
    text
}

fn memory(place: &TouchedMemory) -> String {
    let space = match place.space {
        StateSpace::Shared => "shared",
        StateSpace::Local => "local",
        _ => "global",
    };
    let mut text = format!("{space} address {:#x}, {} bytes", place.address, place.bytes);
    if let Some((name, offset)) = &place.object {
        // A variable's name as CUDA has it: `kernel(int)::tile`.
        let name = demangled(name).unwrap_or_else(|| name.clone());
        text += &format!(", {name}{offset:+}");
    }
    text
}

fn hint(finding: &Finding) -> Option<&'static str> {
    let space = finding.example.place.as_ref().map(|place| place.space);
    Some(match finding.kind {
        Kind::Race(_, Between::Lanes) => {
            "since compute capability 7.0 lanes of a warp need __syncwarp() between them"
        }
        Kind::Race(_, Between::Warps) => "put __syncthreads() between the two",
        Kind::Race(_, Between::Ctas) => "let the cluster meet at its barrier between the two",
        Kind::Race(_, Between::PendingCopy) => {
            "wait for the copy's group in the thread that issued it, then meet at a barrier"
        }
        Kind::Race(_, Between::BulkCopy) => "wait for the phase of the copy's mbarrier",
        Kind::Race(_, Between::PendingRead) => {
            "commit the group and wait for it in the thread that issued the operation, then meet at a barrier"
        }
        Kind::Race(Hazard::WriteAfterRead, Between::PendingTransfer) => {
            "put tcgen05.wait::ld behind the load"
        }
        Kind::Race(_, Between::PendingTransfer) => "put tcgen05.wait::st behind the store",
        Kind::Race(_, Between::TensorCores) => {
            "commit with tcgen05.commit in the thread that issued it, and wait for the mbarrier"
        }
        Kind::ColumnsLeft => "free them with tcgen05.dealloc before the block ends",
        Kind::ExitedBeforeBarrier => {
            "let the threads that have nothing to do skip the work, not the barrier"
        }
        Kind::DivergentBarrier => {
            "keep the barrier out of branches that lanes of a warp take apart"
        }
        Kind::MissingLanes => {
            "name only lanes that execute it, for example with __ballot_sync() before the branch"
        }
        Kind::DifferingMasks => "lanes that a mask names must give the same mask",
        Kind::ReadsLane(_) => {
            "the value is undefined: give a width that keeps the source in the mask, or do not use the value"
        }
        Kind::DifferingCounts => "give every bar.sync and bar.arrive of a barrier the same count",
        Kind::UsedAfterExit => "let the cluster meet at its barrier before the block exits",
        Kind::HeapOutOfBounds => "the block is smaller than the index, or was freed",
        Kind::Uninitialised if space == Some(StateSpace::Global) => {
            "if the host fills this buffer, say so in the launch: init = \"zero\" or =zero"
        }
        _ => return None,
    })
}

pub(crate) fn value(finding: &Finding, loaded: &Loaded) -> Value {
    let example = &finding.example;
    let mut value = json!({
        "check": finding.kind.check().name(),
        "kind": finding.kind.name(),
        "message": sentence(finding),
        "count": finding.count,
        "first": party_value(&example.party, loaded),
    });
    if let Kind::Race(_, between) = finding.kind {
        value["between"] = json!(match between {
            Between::Lanes => "lanes",
            Between::OneInstruction => "instruction",
            Between::Warps => "warps",
            Between::Ctas => "ctas",
            Between::PendingCopy => "pending-copy",
            Between::BulkCopy => "bulk-copy",
            Between::PendingRead => "pending-read",
            Between::PendingTransfer => "pending-transfer",
            Between::TensorCores => "tensor-cores",
        });
    }
    if let Some(other) = &example.other {
        value["other"] = party_value(other, loaded);
    }
    if let Some(place) = &example.place {
        value["memory"] = json!({
            "space": place.space.text(),
            "address": place.address,
            "bytes": place.bytes,
        });
        if let Some((name, offset)) = &place.object {
            value["memory"]["object"] = json!(name);
            value["memory"]["offset"] = json!(offset);
        }
    }
    value
}

fn party_value(party: &Party, loaded: &Loaded) -> Value {
    let mut value = json!({ "cta": party.cta });
    if let Some(thread) = party.thread {
        value["thread"] = json!(thread);
    }
    if let Some(site) = &party.site {
        value["ptx_line"] = json!(site.line);
        if let Some(location) = site.location {
            value["cuda"] = json!({
                "file": cuda_file(loaded, location),
                "line": location.line,
                "column": location.column,
            });
        }
    }
    value
}
