//! Which replacement policy and which schedule of CTAs give the DRAM traffic that was measured?
//!
//! `cargo run --release -p gpucast-counters --example dram_study` executes the kernels of the
//! corpus whose traffic Konstantinidis (2017) measured on a GTX 480, replays their requests through
//! many variants of that GPU, and prints the tables of `docs/evidence/dram-study.md`. Every variant
//! sees all of them; none of its parameters depends on the kernel.

use std::error::Error;
use std::io::Write as _;

use gpucast_counters::device::{FirstLevel, LoadCaching};
use gpucast_counters::hierarchy::{
    CtaStream, Hierarchy, HierarchyGeometry, L1Geometry, L2Contents, L2Geometry, Replacement,
    Schedule,
};
use gpucast_counters::recorder::CtaRecorder;
use gpucast_counters::{Counter, CtaShape, DeviceModel};
use gpucast_interpreter::{
    Argument, DeviceMemory, Launch, Observer, Options, Program, Silent, run,
};
use gpucast_ptx_frontend::types::ScalarType;
use rayon::prelude::*;

/// A kernel of the corpus, and how the thesis compiled its loads.
struct Measured {
    name: &'static str,
    loads: LoadCaching,
}

/// The thesis's own kernels were compiled as usual, Rodinia's with `-dlcm=cg`.
const KERNELS: [Measured; 7] = [
    Measured { name: "sgemm", loads: LoadCaching::All },
    Measured { name: "sgemm-16", loads: LoadCaching::All },
    Measured { name: "sor-red-black", loads: LoadCaching::All },
    Measured { name: "lmsor", loads: LoadCaching::All },
    Measured { name: "kmeans-invert-mapping", loads: LoadCaching::L2Only },
    Measured { name: "kmeans-point", loads: LoadCaching::L2Only },
    Measured { name: "hotspot3d", loads: LoadCaching::L2Only },
];

const POLICIES: [(&str, Replacement); 10] = [
    ("LRU", Replacement::Lru),
    ("random", Replacement::Random { seed: 1 }),
    ("not most recent", Replacement::NotMostRecent { seed: 1 }),
    ("not recently used", Replacement::NotRecentlyUsed),
    ("bimodal insertion", Replacement::Bimodal { promote_every: 32 }),
    ("dueling insertion", Replacement::DuelingInsertion { promote_every: 32 }),
    ("re-reference (SRRIP)", Replacement::ReReference),
    ("bimodal re-reference (BRRIP)", Replacement::BimodalReReference { near_every: 32 }),
    ("dueling re-reference (DRRIP)", Replacement::DuelingReReference { near_every: 32 }),
    ("DRRIP but for loads of sectors", Replacement::ClientReReference { near_every: 32 }),
];

const SCHEDULES: [(&str, Schedule); 3] = [
    ("lockstep waves", Schedule::LockstepWaves),
    ("drift", Schedule::Drift),
    ("staggered", Schedule::Staggered),
];

/// A GPU that is not quite the reference GPU.
struct Variant {
    table: &'static str,
    name: String,
    device: DeviceModel,
}

fn variants() -> Vec<Variant> {
    let base = DeviceModel::GTX_480;
    let mut variants = Vec::new();
    for (schedule_name, schedule) in SCHEDULES {
        for (policy, replacement) in POLICIES {
            let l2 = L2Geometry { replacement, ..base.l2 };
            let device = DeviceModel { l2, schedule, ..base };
            let name = format!("{policy} | {schedule_name}");
            variants.push(Variant { table: "Policies and schedules", name, device });
        }
    }
    let mut vary = |name: &str, device| {
        let table = "One parameter at a time";
        variants.push(Variant { table, name: format!("{name} |"), device });
    };
    let with_l2 = |l2| DeviceModel { l2, ..base };
    vary("as modelled", base);
    for ways in [4, 8, 24, 32] {
        vary(&format!("{ways} ways"), with_l2(L2Geometry { ways, ..base.l2 }));
    }
    for fill_clocks in [0, 94, 376, 752] {
        let l2 = L2Geometry { fill_clocks, ..base.l2 };
        vary(&format!("fills take {fill_clocks} clocks"), with_l2(l2));
    }
    for near_every in [8, 64] {
        let l2 =
            L2Geometry { replacement: Replacement::ClientReReference { near_every }, ..base.l2 };
        vary(&format!("every {near_every}th line inserted near"), with_l2(l2));
    }
    vary("6 slices", with_l2(L2Geometry { slices: 6, ..base.l2 }));
    vary("lines of 32 bytes", with_l2(L2Geometry { line_bytes: 32, ..base.l2 }));
    vary("no first-level caches", DeviceModel { first_level: FirstLevel::default(), ..base });
    let l1 = L1Geometry { size_bytes: 48 << 10, ..L1Geometry::FERMI };
    vary(
        "48 KB of L1",
        DeviceModel { first_level: FirstLevel { l1: Some(l1), ..base.first_level }, ..base },
    );
    variants
}

/// Replays every request through all variants at once.
struct Study {
    recorders: Counter,
    hierarchies: Vec<Hierarchy>,
}

impl Observer for Study {
    type Recorder = CtaRecorder;

    fn recorder(&self, _program: &Program) -> CtaRecorder {
        self.recorders.cta_recorder()
    }

    fn wave(&self) -> usize {
        64
    }

    fn collect(&mut self, _first_cta: u64, recorders: &mut [&mut CtaRecorder]) {
        self.hierarchies.par_iter_mut().for_each(|hierarchy| {
            let mut streams: Vec<CtaStream> =
                recorders.iter().map(|recorder| recorder.stream().clone()).collect();
            hierarchy.collect(&mut streams.iter_mut().collect::<Vec<_>>());
        });
        recorders.iter_mut().for_each(|recorder| recorder.clear());
    }

    fn fresh(&self) -> Self {
        Self { recorders: self.recorders.fresh(), hierarchies: self.hierarchies.clone() }
    }
}

fn text(value: Option<&toml::Value>) -> Option<&str> {
    value.and_then(|value| value.as_str())
}

/// DRAM reads and writes of a kernel under each geometry.
fn traffic(
    Measured { name, loads }: &Measured,
    variants: &[Variant],
) -> Result<Vec<(u64, u64)>, Box<dyn Error>> {
    let entry = gpucast_corpus::find(name).ok_or("no such kernel")?;
    let file: toml::Table = entry.launch.parse()?;
    let module = text(file.get("module")).and_then(|name| entry.module(name));
    let ptx = module.ok_or("no module")?.ptx();
    let launch_file = file["launch"][0].as_table().ok_or("no launch")?;
    let kernel = text(launch_file.get("kernel")).ok_or("no kernel")?;

    let resolved = gpucast_ptx_frontend::load(ptx).map_err(|errors| format!("{errors:?}"))?;
    let program = Program::new(&resolved, ptx, kernel).map_err(|error| format!("{error:?}"))?;
    let mut memory = DeviceMemory::new();
    for (name, buffer) in file["buffers"].as_table().ok_or("no buffers")? {
        let bytes = if text(buffer.get("type")) == Some("f64") { 8 } else { 4 };
        let len = buffer["len"].as_integer().ok_or("no length")? as u64;
        // None of these kernels looks at its data before it decides where to go.
        memory.allocate(name, len * bytes)?;
    }
    let arguments = launch_file["args"].as_array().ok_or("no arguments")?;
    let arguments = arguments.iter().map(|argument| match argument {
        toml::Value::String(buffer) => memory.address(buffer).map(Argument::Address),
        argument => {
            let (ty, number) = argument.as_table()?.iter().next()?;
            let (ty, bits) = match ty.as_str() {
                "s32" => (ScalarType::S32, number.as_integer()? as u64),
                "f32" => (ScalarType::F32, u64::from((number.as_float()? as f32).to_bits())),
                "f64" => (ScalarType::F64, number.as_float()?.to_bits()),
                _ => return None,
            };
            Some(Argument::Scalar { ty, bits })
        }
    });
    let arguments = arguments.collect::<Option<Vec<_>>>().ok_or("an unknown argument")?;
    let three = |key: &str| -> Option<[u32; 3]> {
        let numbers = launch_file[key].as_array()?.iter();
        let numbers: Option<Vec<_>> = numbers.map(|n| Some(n.as_integer()? as u32)).collect();
        numbers?.try_into().ok()
    };
    let launch = Launch {
        grid: three("grid").ok_or("no grid")?,
        block: three("block").ok_or("no block")?,
        cluster: None,
        dynamic_shared_bytes: 0,
        arguments,
    };
    let shared_bytes = program.static_shared_bytes();
    let shape =
        CtaShape { threads: launch.threads_per_cta(), shared_bytes, registers_per_thread: None };
    let geometries = variants.iter().map(|variant| variant.device.hierarchy(shape));
    let device = DeviceModel { load_caching: *loads, ..DeviceModel::GTX_480 };
    let mut study = Study {
        recorders: Counter::new(&program, &launch, shared_bytes, device),
        hierarchies: geometries
            .map(|geometry: HierarchyGeometry| Hierarchy::new(&geometry))
            .collect(),
    };
    run(&program, &launch, &mut memory, &mut study, &Options::default(), &Silent)?;
    let traffic = study.hierarchies.into_par_iter().map(|hierarchy| {
        let traffic = hierarchy.finish(L2Contents::Keep).1.traffic();
        (traffic.dram_read_sectors, traffic.dram_write_sectors)
    });
    Ok(traffic.collect())
}

/// DRAM reads and writes that were measured.
fn measured(name: &str) -> Result<(u64, u64), Box<dyn Error>> {
    let published = gpucast_corpus::published::metrics(name).ok_or("nothing published")?;
    let file: toml::Table = published.parse()?;
    let count = |metric: &str| file["metrics"][metric].as_integer().map(|count| count as u64);
    let reads = count("dram_read_transactions").ok_or("no reads")?;
    Ok((reads, count("dram_write_transactions").ok_or("no writes")?))
}

fn percent(modelled: u64, measured: u64) -> String {
    format!("{:+.1} %", (modelled as f64 / measured as f64 - 1.0) * 100.0).replace('-', "−")
}

fn main() -> Result<(), Box<dyn Error>> {
    let variants = variants();
    let mut columns = Vec::new();
    for kernel in &KERNELS {
        columns.push((measured(kernel.name)?, traffic(kernel, &variants)?));
    }
    let mut out = std::io::stdout().lock();
    let mut table = "";
    for (index, variant) in variants.iter().enumerate() {
        if table != variant.table {
            table = variant.table;
            writeln!(out, "\n{table}\n")?;
            writeln!(
                out,
                "| policy | schedule | {} |",
                KERNELS.map(|kernel| kernel.name).join(" | ")
            )?;
            writeln!(out, "|---|---|{}", "--:|".repeat(KERNELS.len()))?;
        }
        let cells = columns.iter().zip(&KERNELS).map(|((measured, modelled), kernel)| {
            let (reads, writes) = modelled[index];
            // Of sgemm reads were measured apart; the goal for the others is the sum.
            match kernel.name {
                "sgemm" => percent(reads, measured.0),
                _ => percent(reads + writes, measured.0 + measured.1),
            }
        });
        writeln!(out, "| {} | {} |", variant.name, cells.collect::<Vec<_>>().join(" | "))?;
    }
    writeln!(out, "\nAs modelled: DRAM reads and writes\n")?;
    let modelled = variants.iter().position(|variant| variant.name.starts_with("as modelled"));
    let modelled = modelled.ok_or("no default")?;
    for (Measured { name, .. }, (measured, traffic)) in KERNELS.iter().zip(&columns) {
        let (reads, writes) = traffic[modelled];
        writeln!(out, "| {name} | {reads} | {} | {writes} | {} |", measured.0, measured.1)?;
    }
    Ok(())
}
