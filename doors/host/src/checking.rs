//! The sanitizer over a whole program: `gpucast exec --check`.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpucast_forecast::cuda_line;
use gpucast_forecast::failure::Report;
use gpucast_forecast::input::kernel_name;
use gpucast_forecast::run::counting::HostLaunch;
use gpucast_forecast::run::execute::Loaded;
use gpucast_interpreter::{DeviceMemory, Options, RunError};
use gpucast_sanitizer::{Buffer, Checks, DeviceShadow, Finding, Findings, Party, Sanitizer};

use crate::block::{BlockKind, BlockRange};
use crate::report::Found;

/// The checks of a program's launches, if there are any.
pub(crate) struct Checking {
    checks: Option<Checks>,
    shadow: Arc<DeviceShadow>,
    /// Findings of all launches, by kernel, kind and PTX lines.
    found: BTreeMap<(String, &'static str, [Option<u32>; 2]), Found>,
}

impl Checking {
    pub(crate) fn new(names: Option<&str>) -> Result<Self, Report> {
        let checks = names.map(str::parse::<Checks>).transpose();
        let checks = checks.map_err(|error| Report::new(error.to_string()))?;
        let shadow = Arc::new(DeviceShadow::new(Vec::new()));
        Ok(Self { checks, shadow, found: BTreeMap::new() })
    }

    pub(crate) fn is_on(&self) -> bool {
        self.checks.is_some()
    }

    pub(crate) fn options(&self, options: Options) -> Options {
        self.checks.map_or(options, |checks| Sanitizer::options(checks, options))
    }

    /// The program allocates a block. What the device alone can reach is not initialised.
    pub(crate) fn add(&mut self, block: &BlockRange) {
        if let (true, Some(shadow)) = (self.is_on(), Arc::get_mut(&mut self.shadow)) {
            use BlockKind::{Array, Device, Mipmap};
            let initialised = !matches!(block.kind, Device | Array | Mipmap);
            let name = format!("{:?} block at {:#x}", block.kind, block.address);
            shadow.add(Buffer { name, address: block.address, bytes: block.bytes, initialised });
        }
    }

    pub(crate) fn remove(&mut self, address: u64) {
        if let (true, Some(shadow)) = (self.is_on(), Arc::get_mut(&mut self.shadow)) {
            shadow.remove(address);
        }
    }

    /// The program writes bytes of a block.
    pub(crate) fn written(&self, address: u64, bytes: u64) {
        if self.is_on() && bytes > 0 {
            self.shadow.host_writes(address, bytes);
        }
    }

    /// Executes a launch of a module under the checks. A fault that they explain is a finding.
    pub(crate) fn run(
        &mut self,
        one: &HostLaunch<'_>,
        loaded: Option<&Loaded>,
        memory: &mut DeviceMemory,
    ) -> Result<(), RunError> {
        let checks = self.checks.unwrap_or_default();
        let mut sanitizer = Sanitizer::new(one.program, one.launch, checks, &self.shadow);
        let outcome = one.run(memory, &mut sanitizer);
        let fault = match &outcome {
            Err(RunError::Fault(fault)) => Some(&**fault),
            _ => None,
        };
        let findings = sanitizer.finish(fault);
        self.keep(one.program.kernel(), loaded, &findings);
        outcome.map(|_| ())
    }

    fn keep(&mut self, kernel: &str, loaded: Option<&Loaded>, findings: &Findings) {
        for finding in &findings.findings {
            // Launches of one kernel find the same at other addresses.
            let line = |party: &Party| party.site.as_ref().map(|site| site.line);
            let example = &finding.example;
            let lines = [line(&example.party), example.other.as_ref().and_then(line)];
            let key = (kernel.to_owned(), finding.kind.name(), lines);
            let found = self.found.entry(key).or_insert_with(|| Found {
                kernel: kernel_name::readable(kernel),
                kind: finding.kind.name().to_owned(),
                text: sentence(finding, loaded),
                launches: 0,
                occurrences: 0,
            });
            found.launches += 1;
            found.occurrences += finding.count;
        }
    }

    pub(crate) fn findings(&self) -> Vec<Found> {
        self.found.values().cloned().collect()
    }
}

/// A finding in one line: the kind, the places of both threads, the memory.
fn sentence(finding: &Finding, loaded: Option<&Loaded>) -> String {
    let example = &finding.example;
    let mut text = format!("{} at {}", finding.kind.name(), place(&example.party, loaded));
    if let Some(other) = &example.other {
        text += &format!(" and {}", place(other, loaded));
    }
    if let Some(memory) = &example.place {
        text += &format!(", {} bytes at {:#x}", memory.bytes, memory.address);
        if let Some((object, offset)) = &memory.object {
            text += &format!(" ({object}, byte {offset})");
        }
    }
    match &example.detail {
        Some(detail) => format!("{text}: {detail}"),
        None => text,
    }
}

fn place(party: &Party, loaded: Option<&Loaded>) -> String {
    let line = match &party.site {
        Some(site) => match loaded.zip(site.location) {
            Some((loaded, at)) => format!("{} (PTX line {})", cuda_line(loaded, at), site.line),
            None => format!("PTX line {}", site.line),
        },
        None => "no instruction".to_owned(),
    };
    let [x, y, z] = party.cta;
    match party.thread {
        Some([i, j, k]) => format!("{line}, CTA {x},{y},{z} thread {i},{j},{k}"),
        None => format!("{line}, CTA {x},{y},{z}"),
    }
}
