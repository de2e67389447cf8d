//! A picture of each kind, with the thesis's numbers where it has some, and hard cases.

use gpucast_plot::axis::Kind;
use gpucast_plot::pictures::banks::{Banks, Cell, Phase};
use gpucast_plot::pictures::bars::{Bar, Bars, Length};
use gpucast_plot::pictures::curves::{Curve, Curves, Stroke};
use gpucast_plot::pictures::errors::{Errors, Row};
use gpucast_plot::pictures::heatmap::Heatmap;
use gpucast_plot::pictures::lanes::{self, Lanes};
use gpucast_plot::pictures::quadrant_split::{Adjustment, Device, Peak, QuadrantSplit};
use gpucast_plot::pictures::roofline::{Bandwidth, Ceiling, Kernel, Level, LevelPoint, Roofline};
use gpucast_plot::pictures::sectors::{Line, Piece, Sectors};
use gpucast_plot::pictures::stages::{Stage, Stages};
use gpucast_plot::pictures::tornado::{Effect, Tornado};
use gpucast_plot::{DrawError, Scene};

/// Every picture with its name.
pub(crate) fn scenes() -> Vec<(&'static str, Result<Scene, DrawError>)> {
    vec![
        ("roofline", roofline(3).scene()),
        ("roofline-crowded", roofline(14).scene()),
        ("roofline-long-name", long_name().scene()),
        ("roofline-level", level_ceilings().scene()),
        ("quadrant-split", quadrant_split().scene()),
        ("quadrant-split-many", many_gpus(Kind::Linear).scene()),
        ("quadrant-split-steep", half_line(8.0).scene()),
        ("quadrant-split-flat", half_line(0.004).scene()),
        ("quadrant-split-log", many_gpus(Kind::Logarithmic).scene()),
        ("errors", errors().scene()),
        ("errors-narrow", narrow_errors().scene()),
        ("breakdown", bars(Length::Values).scene()),
        ("mix", bars(Length::Shares).scene()),
        ("stages", stages(9).scene()),
        ("stages-many", stages(300).scene()),
        ("curves", curves().scene()),
        ("heatmap", heatmap().scene()),
        ("tornado", tornado().scene()),
        ("sectors", sectors(4).scene()),
        ("sectors-bytes", sectors(1).scene()),
        ("banks", banks(1).scene()),
        ("banks-conflicts", banks(8).scene()),
        ("lanes", lanes().scene()),
    ]
}

/// A V100 with the ceilings of Yang & Williams 2019, and kernels beneath.
pub(crate) fn roofline(kernels: usize) -> Roofline {
    let bandwidth = |level, gbps| Bandwidth { level, gbps, theoretical: false };
    let ceiling =
        |name: &str, gflops| Ceiling { name: name.to_owned(), gflops, theoretical: false };
    Roofline {
        title: "Roofline of a Tesla V100".to_owned(),
        subtitle: "Double precision; ceilings as measured by Yang & Williams 2019".to_owned(),
        bandwidths: vec![
            bandwidth(Level::Dram, 828.0),
            bandwidth(Level::L2, 2996.0),
            bandwidth(Level::L1, 14_336.0),
            Bandwidth { level: Level::Dram, gbps: 900.0, theoretical: true },
        ],
        ceilings: vec![ceiling("FMA", 7833.0), ceiling("no FMA", 3916.0)],
        kernels: (0..kernels)
            .map(|at| {
                let scale = 1.6_f64.powi(at as i32 % 7);
                Kernel {
                    name: format!("kernel-{at}"),
                    places: vec![
                        LevelPoint { level: Level::Dram, intensity: 1.9 * scale },
                        LevelPoint { level: Level::L2, intensity: 0.6 * scale },
                        LevelPoint { level: Level::L1, intensity: 0.25 * scale },
                    ],
                    gflops: 600.0 * scale,
                    measured_gflops: (at == 0).then_some(430.0),
                }
            })
            .collect(),
        notes: Vec::new(),
    }
}

/// A kernel whose name is wider than the canvas.
fn long_name() -> Roofline {
    let mut picture = roofline(2);
    picture.kernels[0].name = "cutlass::Kernel<cutlass::gemm::kernel::Gemm>".repeat(6);
    picture
}

/// Ceilings at the same height, as integer and floating-point ones are on many GPUs.
pub(crate) fn level_ceilings() -> Roofline {
    let mut picture = roofline(3);
    let ceiling =
        |name: &str| Ceiling { name: name.to_owned(), gflops: 7833.0, theoretical: false };
    picture.ceilings.extend([ceiling("integer multiply-add"), ceiling("integer add")]);
    picture
}

/// Thesis, figure 4.6: SGEMM on a GTX 660.
pub(crate) fn quadrant_split() -> QuadrantSplit {
    let adjustment = |name: &str, gflops| Adjustment { name: name.to_owned(), gflops };
    QuadrantSplit {
        title: "SGEMM on a GTX 660".to_owned(),
        subtitle: "Konstantinidis 2017, figure 4.6".to_owned(),
        kernel: "sgemm".to_owned(),
        intensity: 24.81,
        devices: vec![Device {
            name: "gtx-660".to_owned(),
            peak: Peak { gbps: 117.56, gflops: 1940.8 },
            theoretical: Some(Peak { gbps: 144.0, gflops: 1983.0 }),
            adjustments: vec![adjustment("× E_mix", 1940.8), adjustment("× E_instr", 202.8)],
            measured_gflops: Some(169.11),
        }],
        scale: Kind::Linear,
        notes: Vec::new(),
    }
}

/// Thesis, table 5.7 and figure 5.4: red/black SOR on six GPUs.
pub(crate) fn many_gpus(scale: Kind) -> QuadrantSplit {
    let rows = [
        ("gtx-480", 184.09, 51.07, 163.36, 46.9),
        ("gtx-660", 89.70, 28.92, 117.56, 28.88),
        ("gtx-960", 89.67, 37.10, 86.35, 25.9),
        ("gtx-1060", 145.02, 60.80, 161.64, 47.9),
        ("tesla-m2050", 508.91, 55.12, 107.44, 30.2),
        ("tesla-k20c", 1153.08, 91.13, 151.72, 42.9),
    ];
    QuadrantSplit {
        title: "Red/black SOR on six GPUs".to_owned(),
        subtitle: "Konstantinidis 2017, figure 5.4".to_owned(),
        kernel: "sor".to_owned(),
        intensity: 0.3019,
        devices: rows
            .into_iter()
            .map(|(name, _, adjusted, gbps, measured)| Device {
                name: name.to_owned(),
                peak: Peak { gbps, gflops: adjusted },
                theoretical: None,
                adjustments: Vec::new(),
                measured_gflops: Some(measured),
            })
            .collect(),
        scale,
        notes: Vec::new(),
    }
}

/// Half-lines that are steep, so that the upper half is narrow, or flat, so that the lower one is.
pub(crate) fn half_line(intensity: f64) -> QuadrantSplit {
    let mut picture = many_gpus(Kind::Linear);
    picture.intensity = intensity;
    for device in &mut picture.devices {
        device.measured_gflops = None;
    }
    picture
}

/// Two times within a decade.
fn narrow_errors() -> Errors {
    let mut picture = errors();
    picture.rows.truncate(2);
    picture
}

/// Thesis, tables 5.9 and 5.14, with a second series.
pub(crate) fn errors() -> Errors {
    let row = |group: &str, name: &str, predicted: f64, measured: f64| Row {
        group: group.to_owned(),
        name: name.to_owned(),
        measured_ms: measured,
        predicted_ms: vec![Some(predicted), (name != "gtx-960").then_some(predicted * 0.98)],
    };
    Errors {
        title: "Predicted and measured times".to_owned(),
        subtitle: "Konstantinidis 2017, tables 5.9 and 5.14".to_owned(),
        series: vec!["counts from nvprof".to_owned(), "counts from executing".to_owned()],
        rows: vec![
            row("sor-red-black", "gtx-480", 20.414, 21.456),
            row("sor-red-black", "gtx-660", 34.803, 34.851),
            row("sor-red-black", "gtx-960", 38.620, 38.793),
            row("sgemm", "gtx-480", 2.987, 4.033),
            row("sgemm", "gtx-660", 5.171, 6.201),
            row("sgemm", "gtx-960", 2.973, 2.938),
        ],
        notes: Vec::new(),
    }
}

/// Two kernels on two GPUs, in five parts.
pub(crate) fn bars(length: Length) -> Bars {
    let bar = |group: &str, name: &str, parts: [f64; 5]| Bar {
        group: group.to_owned(),
        name: name.to_owned(),
        parts: parts.to_vec(),
        marked: (length == Length::Values).then(|| parts.into_iter().fold(0.0, f64::max)),
        remark: "bound by memory".to_owned(),
    };
    Bars {
        title: "What the time is spent on".to_owned(),
        subtitle: "Components that work at the same time; the longest one bounds the kernel"
            .to_owned(),
        series: ["compute", "shared", "memory", "L2", "overhead"].map(str::to_owned).to_vec(),
        axis: "busy time, stacked (ms)".to_owned(),
        mark: "predicted time".to_owned(),
        bars: vec![
            bar("sgemm", "gtx-480", [2.9, 1.4, 0.4, 0.2, 0.01]),
            bar("sgemm", "tesla-v100-sxm2-with-a-long-name", [0.2, 0.1, 0.02, 0.01, 0.003]),
            bar(
                "a_kernel_with_a_name_that_is_longer_than_its_bars",
                "gtx-480",
                [1.0, 0.0, 3.0, 1.0, 0.0],
            ),
        ],
        length,
        notes: Vec::new(),
    }
}

/// Cyclic reduction in form: a first stage of global memory, then ever shorter ones of shared
/// memory.
pub(crate) fn stages(count: usize) -> Stages {
    let stage = |at: usize| {
        let fade = 0.8_f64.powi(at as i32 % 20);
        let parts = vec![0.03 * fade, 0.05 * fade, if at == 0 { 0.12 } else { 0.0 }];
        let time_ms = parts.iter().copied().fold(0.0, f64::max);
        Stage { name: at.to_string(), parts, time_ms }
    };
    Stages {
        title: "Stages of a kernel".to_owned(),
        subtitle: "Busy time of each component".to_owned(),
        series: ["instruction pipeline", "shared memory", "global memory"]
            .map(str::to_owned)
            .to_vec(),
        stages: (0..count).map(stage).collect(),
        notes: vec!["Components overlap.".to_owned()],
    }
}

/// A roof approached, with its reference.
pub(crate) fn curves() -> Curves {
    let points = |peak: f64, gbps: f64| {
        (0..12)
            .map(|at| 0.25 * 2_f64.powi(at))
            .map(|x| (x, 1.0 / (1.0 / peak + 1.0 / (gbps * x))))
            .collect()
    };
    let curve = |name: &str, series, stroke, points| Curve {
        name: name.to_owned(),
        points,
        stroke,
        series,
    };
    Curves {
        title: "Throughput over operational intensity".to_owned(),
        subtitle: "Two GPUs".to_owned(),
        x: "operational intensity (operations/byte)".to_owned(),
        y: "throughput (10⁹ operations/s)".to_owned(),
        scales: (Kind::Logarithmic, Kind::Logarithmic),
        curves: vec![
            curve("gtx-480", 0, Stroke::Marked, points(1350.0, 163.0)),
            curve("gtx-660", 1, Stroke::Marked, points(1940.0, 117.0)),
            curve(
                "roof of gtx-480",
                0,
                Stroke::Reference,
                vec![(0.25, 44.0), (7.6, 1345.0), (512.0, 1345.0)],
            ),
        ],
        notes: Vec::new(),
    }
}

/// Times over bandwidth and clock.
pub(crate) fn heatmap() -> Heatmap {
    let columns: Vec<f64> = (1..=8).map(|at| 100.0 * f64::from(at)).collect();
    let rows: Vec<f64> = (1..=5).map(|at| 0.5 * f64::from(at)).collect();
    let cells = rows.iter().flat_map(|row| columns.iter().map(move |c| Some(1000.0 / c / row)));
    Heatmap {
        title: "Time over two parameters".to_owned(),
        subtitle: "sgemm on a changed gtx-660".to_owned(),
        x: "memory bandwidth (GB/s)".to_owned(),
        y: "clock (GHz)".to_owned(),
        value: "time (ms)".to_owned(),
        cells: cells.collect(),
        columns,
        rows,
        notes: Vec::new(),
    }
}

/// Parameters of a GPU.
pub(crate) fn tornado() -> Tornado {
    let effect = |name: &str, lowered, raised| Effect { name: name.to_owned(), lowered, raised };
    Tornado {
        title: "What moves the time".to_owned(),
        subtitle: "sgemm on gtx-660".to_owned(),
        axis: "change of the predicted time (%)".to_owned(),
        changes: ["10 % less", "10 % more"].map(str::to_owned),
        effects: vec![
            effect("memory_bandwidth", 0.0, 0.0),
            effect("int_add_throughput", 0.012, -0.009),
            effect("load_store_throughput", 0.093, -0.077),
            effect("sp_throughput", 0.004, -0.003),
        ],
        notes: Vec::new(),
    }
}

/// A column of a matrix of rows of 64 bytes, in pieces of so many bytes.
pub(crate) fn sectors(bytes: u32) -> Sectors {
    let piece = |lane: u32| Piece { first: lane % 2 * 64, bytes, lanes: 1 << lane };
    let line = |at: u32| Line {
        name: format!("matrix + {}", 128 * at),
        sectors: 0b0101,
        pieces: vec![piece(2 * at), piece(2 * at + 1)],
    };
    Sectors {
        title: "transpose, line 7: load of 4 bytes a lane".to_owned(),
        subtitle: "block 0,0,0, warp 0: 32 sectors of 32 bytes in 16 lines".to_owned(),
        line_bytes: 128,
        sector_bytes: 32,
        lines: (0..16).map(line).collect(),
        notes: vec!["1024 bytes move where 128 would do.".to_owned()],
    }
}

/// Lanes of which so many meet in each bank that is used.
pub(crate) fn banks(passes: u32) -> Banks {
    let cell = |lane: u32| Cell { bank: lane / passes * passes, lanes: 1 << lane };
    let phase = Phase { name: "all lanes".to_owned(), cells: (0..32).map(cell).collect() };
    let wide = Phase {
        name: "lanes 0 to 15".to_owned(),
        cells: (0..32).map(|bank| Cell { bank, lanes: 0xffff }).collect(),
    };
    Banks {
        title: "transpose, line 9: load of 4 bytes a lane".to_owned(),
        subtitle: format!("{passes} passes over the banks"),
        banks: 32,
        phases: vec![phase, wide],
        notes: Vec::new(),
    }
}

/// A branch that halves the warp again and again.
pub(crate) fn lanes() -> Lanes {
    let step = |at: u32| lanes::Step {
        name: format!("line {}", 10 + at),
        text: "        if (threadIdx.x < stride) sum[threadIdx.x] += sum[threadIdx.x + stride];"
            .repeat(1 + at as usize % 2),
        lanes: u32::MAX >> at,
        instructions: u64::from(7 * at + 1),
    };
    Lanes {
        title: "Lanes of reduction".to_owned(),
        subtitle: "block 0,0,0, warp 0: 50 % of the lanes are on the way".to_owned(),
        steps: (0..24).map(step).collect(),
        notes: Vec::new(),
    }
}
