//! A slice of a program counts what the whole program counts: every event and every fault is the
//! same, for the kernels of these tests and of the corpus, and for random ones. So it is with other
//! contents of all buffers, where a program's counts ignore them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

pub(crate) mod events;
mod random;
mod shared_places;

use std::path::{Path, PathBuf};

use gpucast_interpreter::program::Parameter;
use gpucast_interpreter::{
    Argument, Buffers, ByClasses, ClassEffort, DeviceMemory, FaultKind, Launch, Options, Program,
    RunError, Silent, Slice, Slicer, Summary, Treatment, prepare, run, run_classes, tally_classes,
};
use gpucast_ptx_frontend::Module;

use events::{Events, Sums};

/// A buffer before the first launch.
pub(crate) struct Buffer {
    pub(crate) name: String,
    /// Contents that it begins with.
    pub(crate) contents: Vec<u8>,
    /// Bytes beyond its contents, zero if anything needs them.
    pub(crate) addresses: u64,
}

impl Buffer {
    pub(crate) fn new(name: String, contents: Vec<u8>) -> Self {
        Self { name, contents, addresses: 0 }
    }

    fn bytes(&self) -> u64 {
        self.contents.len() as u64 + self.addresses
    }
}

/// The value of a parameter.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// The address of a buffer, by its index.
    Pointer(usize),
    Bytes(Vec<u8>),
}

/// A launch of one of a module's kernels.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) kernel: String,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) values: Vec<Value>,
}

/// Launches of a module, one after the other.
pub(crate) struct Case<'a> {
    pub(crate) text: &'a str,
    pub(crate) module: &'a Module,
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) launches: Vec<Planned>,
    pub(crate) options: Options,
}

/// What came of each launch, up to the first that failed.
type Outcomes = Vec<(Events, Result<Summary, RunError>)>;

/// The comparison of the slices of a case with the whole.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// Instructions of which the slices compute nothing.
    pub(crate) left_out: usize,
    pub(crate) instructions: usize,
    /// True if a slice turned out to leave out too much, so that everything was executed.
    pub(crate) fell_back: bool,
    /// True if a slice guessed wrongly what lies where in shared memory.
    pub(crate) guessed_wrongly: bool,
    /// Buffers that had no memory.
    pub(crate) unheld: usize,
    /// True if counts are said to ignore contents, and did.
    pub(crate) ignores_contents: bool,
}

/// True if a slice has left out too much.
fn is_not_computed((_, result): &(Events, Result<Summary, RunError>)) -> bool {
    matches!(result, Err(RunError::Fault(fault))
        if matches!(fault.kind, FaultKind::NotComputed { .. }))
}

impl Case<'_> {
    fn programs(&self) -> Vec<Program> {
        let program = |one: &Planned| Program::new(self.module, self.text, &one.kernel).unwrap();
        self.launches.iter().map(program).collect()
    }

    fn launch(planned: &Planned, buffers: &[Buffer], memory: &DeviceMemory) -> Launch {
        let argument = |value: &Value| match value {
            Value::Pointer(at) => {
                Argument::Bytes(memory.address(&buffers[*at].name).unwrap().to_le_bytes().to_vec())
            }
            Value::Bytes(bytes) => Argument::Bytes(bytes.clone()),
        };
        Launch {
            grid: planned.grid,
            block: planned.block,
            cluster: None,
            dynamic_shared_bytes: planned.shared,
            arguments: planned.values.iter().map(argument).collect(),
        }
    }

    fn run(&self, programs: &[Program], memory: &mut DeviceMemory) -> Outcomes {
        let mut outcomes = Vec::new();
        for (planned, program) in self.launches.iter().zip(programs) {
            let launch = Self::launch(planned, &self.buffers, memory);
            let mut events = Events::default();
            let result = run(program, &launch, memory, &mut events, &self.options, &Silent);
            let failed = result.is_err();
            outcomes.push((events, result));
            if failed {
                break;
            }
        }
        outcomes
    }

    /// The outcomes of executing everything.
    fn whole(&self) -> Outcomes {
        self.whole_with(|byte| byte)
    }

    /// The outcomes with contents that are `changed`.
    fn whole_with(&self, changed: impl Fn(u8) -> u8) -> Outcomes {
        let mut memory = DeviceMemory::with_address_bits(self.module.address_bits);
        for buffer in &self.buffers {
            memory.allocate(&buffer.name, buffer.contents.len() as u64).unwrap();
            let bytes = memory.bytes_mut(&buffer.name).unwrap();
            bytes.iter_mut().zip(&buffer.contents).for_each(|(to, from)| *to = changed(*from));
        }
        self.run(&self.programs(), &mut memory)
    }

    /// The outcomes of executing slices; `None` if the launches are not sliced.
    fn sliced(&self, compared: &mut Compared) -> Option<Outcomes> {
        let (parts, mut memory) = self.parts(compared, false)?;
        let outcomes = self.run(&parts, &mut memory);
        if !outcomes.iter().any(is_not_computed) {
            return Some(outcomes);
        }
        let mut together = Compared::default();
        let (parts, mut memory) = self.parts(&mut together, true)?;
        if together.left_out == compared.left_out {
            // There was no guess.
            return Some(outcomes);
        }
        *compared = Compared { guessed_wrongly: true, ..together };
        Some(self.run(&parts, &mut memory))
    }

    /// The slices of the launches, and their memory.
    fn parts(
        &self,
        compared: &mut Compared,
        together: bool,
    ) -> Option<(Vec<Program>, DeviceMemory)> {
        let programs = self.programs();
        if programs.iter().any(|program| program.not_sliced_because().is_some()) {
            return None;
        }
        let mut memory = DeviceMemory::with_address_bits(self.module.address_bits);
        for buffer in &self.buffers {
            memory.reserve(&buffer.name, buffer.bytes()).unwrap();
        }
        for program in &programs {
            prepare(program, &mut memory, &self.options).ok()?;
        }
        let mut cases = Vec::new();
        for (planned, program) in self.launches.iter().zip(&programs) {
            let slicer = Slicer::new(self.module, program);
            let slicer = if together { slicer.together() } else { slicer };
            let launch = Self::launch(planned, &self.buffers, &memory);
            let reach = slicer.reach(&launch, &memory).ok()?;
            cases.push((slicer, reach));
        }
        let mut wanted = Buffers::default();
        let slices = loop {
            let slices: Vec<Slice> =
                cases.iter().map(|(slicer, reach)| slicer.slice(reach, &wanted)).collect();
            if !slices.iter().fold(false, |grown, slice| wanted.add(&slice.buffers) | grown) {
                break slices;
            }
        };
        for name in memory.hold(|at| wanted.contains(at)).ok()? {
            let buffer = self.buffers.iter().find(|buffer| buffer.name == name).unwrap();
            let bytes = memory.bytes_mut(&name).unwrap();
            bytes[..buffer.contents.len()].copy_from_slice(&buffer.contents);
        }
        let all = 0..self.buffers.len();
        compared.unheld += all.filter(|&at| !wanted.contains(at)).count();
        for slice in &slices {
            let computes = |one: &&Treatment| one.computes();
            compared.instructions += slice.treatments.len();
            compared.left_out +=
                slice.treatments.len() - slice.treatments.iter().filter(computes).count();
        }
        let parts = programs.iter().zip(&slices);
        let parts = parts.map(|(program, slice)| {
            program.sliced(self.module, self.text, slice).expect("the whole was lowered")
        });
        Some((parts.collect(), memory))
    }

    /// Insist that classes of CTAs give the events of slices. Returns a report of each launch that
    /// was compared.
    pub(crate) fn compare_classes(&self) -> Vec<Result<ByClasses, String>> {
        let mut compared = Compared::default();
        let (Some((slices, mut memory)), Some((parts, mut other_memory))) =
            (self.parts(&mut compared, false), self.parts(&mut compared, false))
        else {
            return Vec::new();
        };
        let mut reports = Vec::new();
        for ((planned, slice), part) in self.launches.iter().zip(&slices).zip(parts) {
            let launch = Self::launch(planned, &self.buffers, &memory);
            let (mut events, mut others) = (Events::anonymous(), Events::anonymous());
            let options = &self.options;
            let result = run(slice, &launch, &mut memory, &mut events, options, &Silent);
            let mut sums = Sums::default();
            let classes = part.followed().and_then(|part| {
                let effort = ClassEffort::ToTheEnd;
                let memory = &mut other_memory;
                let summed =
                    tally_classes(&part, &launch, memory, &mut sums, options, &Silent, effort);
                let told =
                    run_classes(&part, &launch, memory, &mut others, options, &Silent, effort);
                assert_eq!(summed, told, "{}", self.text);
                told.unwrap_or_else(|error| Err(error.to_string()))
            });
            let is_over = |error: &RunError| {
                matches!(error, RunError::Fault(fault)
                    if matches!(fault.kind, FaultKind::BudgetExhausted { .. }))
            };
            // Only what is executed counts against a budget.
            if result.as_ref().is_err_and(is_over) {
                break;
            }
            if let Ok(classes) = &classes {
                others.insist_on(&events, 0, self.text);
                assert_eq!(result.as_ref(), Ok(&classes.summary), "{}", self.text);
                // Nothing that the launch reads was written: it may run again.
                let mut all = Sums::default();
                run(slice, &launch, &mut memory, &mut all, options, &Silent).unwrap();
                assert_eq!(sums, all, "{}", self.text);
            } else if result.is_ok() {
                run(slice, &launch, &mut other_memory, &mut others, options, &Silent).unwrap();
            }
            reports.push(classes);
            if result.is_err() {
                break;
            }
        }
        reports
    }

    /// Insist that slices and the whole give the same events and faults.
    pub(crate) fn compare(&self) -> Option<Compared> {
        let mut compared = Compared::default();
        let sliced = self.sliced(&mut compared)?;
        if sliced.iter().any(is_not_computed) {
            compared.fell_back = true;
            return Some(compared);
        }
        let whole = self.whole();
        self.insist_on_equal(&sliced, &whole);
        let programs = self.programs();
        if programs.iter().all(|program| program.counts_ignore_contents(self.module)) {
            compared.ignores_contents = true;
            self.insist_on_equal(&self.whole_with(|byte| !byte.rotate_left(3)), &whole);
        }
        Some(compared)
    }

    fn insist_on_equal(&self, ones: &Outcomes, others: &Outcomes) {
        assert_eq!(ones.len(), others.len(), "{}", self.text);
        for (launch, (one, other)) in ones.iter().zip(others).enumerate() {
            assert_eq!(one.1, other.1, "launch {launch} of\n{}", self.text);
            one.0.insist_on(&other.0, launch, self.text);
        }
    }
}

/// A launch with arbitrary arguments: buffers for parameters that are as wide as an address, and
/// small numbers for the others.
pub(crate) fn arbitrary(program: &Program, seed: u64) -> (Vec<Buffer>, Planned) {
    let (mut buffers, mut values) = (Vec::new(), Vec::new());
    let mut random = seed | 1;
    let width = u64::from(program.address_bits() / 8);
    for (index, parameter) in program.parameters().iter().enumerate() {
        let Parameter { bytes, is_array, .. } = *parameter;
        if bytes == width && !is_array {
            let mut contents = vec![0; 4096];
            for byte in &mut contents {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *byte = (random >> 56) as u8;
            }
            values.push(Value::Pointer(buffers.len()));
            buffers.push(Buffer::new(format!("buffer {index}"), contents));
        } else {
            let mut number = vec![0; bytes as usize];
            number[0] = index as u8 + 3;
            values.push(Value::Bytes(number));
        }
    }
    let kernel = program.kernel().to_owned();
    let planned = Planned { kernel, grid: [2, 1, 1], block: [45, 1, 1], shared: 1024, values };
    (buffers, planned)
}

/// The PTX files below a folder.
pub(crate) fn modules(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            modules(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "ptx") {
            found.push(path);
        }
    }
}

/// The files of a test that goes through all: in the gate every second one, from the `first` one
/// on, so that two tests go through all together. With `GPUCAST_NIGHTLY` all.
pub(crate) fn part(files: Vec<PathBuf>, first: usize) -> Vec<PathBuf> {
    match std::env::var_os("GPUCAST_NIGHTLY") {
        Some(_) => files,
        None => files.into_iter().skip(first).step_by(2).collect(),
    }
}

#[test]
fn slices_of_all_kernels_of_the_tests_and_the_corpus_count_alike() {
    let mut files = Vec::new();
    for folder in ["tests", "../corpus/kernels", "../forecast/tests", "../insight/sanitizer/tests"]
    {
        modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut files);
    }
    files.sort();
    let files = part(files, 1);
    let options = Options { instruction_budget: 1 << 13, ..Options::default() };
    // One thread: of several CTAs that use up a budget, any may be the one to blame.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (mut compared, mut fell_back, mut unsliced, mut left_out) = (0, 0, 0, 0);
    let mut ignore_contents = 0;
    for file in files {
        let text = crate::cases::expanded(&std::fs::read_to_string(&file).unwrap());
        let Ok(module) = gpucast_ptx_frontend::load(&text) else { continue };
        for kernel in Program::kernels(&module) {
            let Ok(program) = Program::new(&module, &text, kernel) else { continue };
            for block in [[45, 1, 1], [128, 1, 1]] {
                let (buffers, planned) = arbitrary(&program, compared);
                let launches = vec![Planned { block, ..planned }];
                let case = Case { text: &text, module: &module, buffers, launches, options };
                match pool.install(|| case.compare()) {
                    Some(one) if one.fell_back => {
                        println!("{} {kernel} fell back", file.display());
                        fell_back += 1;
                    }
                    Some(one) => {
                        left_out += one.left_out;
                        ignore_contents += usize::from(one.ignores_contents);
                    }
                    None => unsliced += 1,
                }
                compared += 1;
            }
        }
    }
    println!("{compared} launches, {fell_back} fell back, {unsliced} were not sliced, {left_out}");
    assert!(compared > 1500 && left_out > 2500, "{compared} {left_out}");
    assert!(fell_back < 4 && unsliced < 20, "{fell_back} {unsliced}");
    assert!(ignore_contents > 500, "{ignore_contents}");
}
