use std::sync::Arc;

use super::*;
use crate::gpu::{Gpu, GpuLibrary};
use crate::prediction::Bound;
use crate::predictor::{Conditions, Model as _, ModelError};
use crate::quantitative_roofline::QuantitativeRoofline;
use crate::regression::RegressionError;

/// Numbers between 0 and 1 that repeat: SplitMix64 (Steele, Lea, Flood 2014).
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Standard normal, as the sum of twelve.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

/// Workloads of n×n matrices: two in, one out, 2·n³ operations.
fn multiplication(n: f64) -> Workload {
    Workload {
        dispatch_bytes: 8.0 * n * n,
        operations: 2.0 * n * n * n,
        collect_bytes: 4.0 * n * n,
    }
}

fn steps_of(model: &Offload, workload: &Workload) -> [f64; 3] {
    [
        workload.dispatch_bytes / model.dispatch_bandwidth + 0.000_5,
        workload.operations / model.gpu_speed + 0.000_4,
        workload.collect_bytes / model.collect_bandwidth + model.constant - 0.000_9,
    ]
}

#[test]
fn the_published_equations_give_the_times_that_their_figures_add_up_to() {
    // By hand: 4096² matrices: 134 217 728 / 5.68e9 = 0.023630 s, 137 438 953 472 / 241.10e9 =
    // 0.570050 s, 67 108 864 / 2.13e9 = 0.031507 s, and 0.001928 s.
    let time = Offload::MATRIX_MULTIPLICATION.time(&multiplication(4096.0));
    assert!((time - 0.627_114).abs() < 1e-5, "{time}");
    // 64 MiB each way and 1e5 operations at 0.4 Mflop/s: 0.012336 + 0.25 + 0.031359 + 0.050523.
    let megabytes = f64::from(64 << 20);
    let transform =
        Workload { dispatch_bytes: megabytes, operations: 1e5, collect_bytes: megabytes };
    assert!((Offload::FFT.time(&transform) - 0.344_219).abs() < 1e-5);
    // Nothing to do takes the constant.
    let idle = Workload::default();
    assert_eq!(Offload::NEEDLEMAN_WUNSCH.time(&idle), 0.053_851);
}

#[test]
fn the_error_is_the_same_both_ways_and_eleven_percent_is_eleven_percent() {
    assert_eq!(symmetric_error(2.0, 3.0), symmetric_error(3.0, 2.0));
    assert!((discrepancy(symmetric_error(1.11, 1.0)) - 0.11).abs() < 1e-12);
}

/// The three published models, fitted anew to thirty noisy samples each, a third of them, as in
/// the paper: in nearly all of many experiments the truth must lie within the 95 % intervals.
#[test]
fn noisy_samples_give_the_coefficients_back_within_their_intervals() {
    for model in [Offload::MATRIX_MULTIPLICATION, Offload::FFT, Offload::NEEDLEMAN_WUNSCH] {
        let mut random = Uniform(7);
        let (mut within, mut intervals) = (0, 0);
        for _ in 0..200 {
            let samples: Vec<Sample> = (0..30)
                .map(|_| {
                    let n = 512.0 + 7680.0 * random.next();
                    let workload = multiplication(n);
                    let times =
                        steps_of(&model, &workload).map(|seconds| seconds + 2e-4 * random.normal());
                    Sample { workload, time: MeasuredTime::Steps(times) }
                })
                .filter(|sample| sample.time.total() > 0.0)
                .collect();
            let calibration = Calibration::new(&samples, 3, 0.95).unwrap();
            assert_eq!(calibration.fitted, samples.len().div_ceil(3));
            let truth = [model.dispatch_bandwidth, model.gpu_speed, model.collect_bandwidth];
            for (rate, truth) in calibration.rates.iter().zip(truth) {
                let (low, high) = rate.interval.unwrap();
                assert!(low < rate.value && rate.value < high);
                intervals += 1;
                within += usize::from((low..=high).contains(&truth));
            }
        }
        // 95 % of 600, give or take four standard deviations of 5.3.
        assert_eq!(intervals, 600);
        assert!((548..=592).contains(&within), "{within} of {intervals}");
    }
}

#[test]
fn totals_alone_determine_rates_and_the_sum_of_the_constants() {
    let model = Offload::MATRIX_MULTIPLICATION;
    let mut random = Uniform(11);
    let samples: Vec<Sample> = (0..12)
        .map(|_| {
            // Workloads whose three parts vary independently.
            let workload = Workload {
                dispatch_bytes: 1e9 * random.next(),
                operations: 1e12 * random.next(),
                collect_bytes: 1e9 * random.next(),
            };
            Sample { workload, time: MeasuredTime::Total(model.time(&workload)) }
        })
        .collect();
    let calibration = Calibration::new(&samples, 1, 0.95).unwrap();
    let fitted = calibration.model;
    for (found, truth) in [
        (fitted.dispatch_bandwidth, model.dispatch_bandwidth),
        (fitted.gpu_speed, model.gpu_speed),
        (fitted.collect_bandwidth, model.collect_bandwidth),
        (fitted.constant, model.constant),
    ] {
        assert!((found / truth - 1.0).abs() < 1e-6, "{found} {truth}");
    }
    assert!(calibration.worst_error < 1e-9 && calibration.r_squared > 1.0 - 1e-12);
    assert_eq!((calibration.fitted, calibration.evaluated), (12, 12));
    assert!(calibration.steps.is_none());
    // Square matrices tie both transfers together: their bandwidths cannot be told apart.
    let tied: Vec<Sample> = (1..9)
        .map(|n| {
            let workload = multiplication(f64::from(n) * 512.0);
            Sample { workload, time: MeasuredTime::Total(model.time(&workload)) }
        })
        .collect();
    let error = Calibration::new(&tied, 1, 0.95).unwrap_err();
    assert!(
        matches!(error, CalibrationError::Regression { step: "the total time", .. }),
        "{error}"
    );
}

#[test]
fn samples_that_cannot_be_are_refused() {
    let sample = |total: f64, bytes: f64| Sample {
        workload: Workload { dispatch_bytes: bytes, operations: bytes, collect_bytes: bytes },
        time: MeasuredTime::Steps([total, total, total]),
    };
    let refused = |samples: &[Sample]| Calibration::new(samples, 1, 0.95).unwrap_err();
    assert_eq!(
        refused(&[sample(1.0, 1.0), sample(0.0, 2.0)]),
        CalibrationError::ImpossibleTime { sample: 2, seconds: 0.0 }
    );
    let faster = [sample(3.0, 1.0), sample(2.0, 2.0), sample(1.0, 3.0)];
    assert!(matches!(refused(&faster), CalibrationError::NegativeRate { step: "dispatch", .. }));
    let mut mixed = faster;
    mixed[2].time = MeasuredTime::Total(1.0);
    assert_eq!(refused(&mixed), CalibrationError::Mixed { sample: 3 });
    assert!(matches!(
        refused(&[]),
        CalibrationError::Regression {
            error: RegressionError::TooFewSamples { samples: 0, .. },
            ..
        }
    ));
}

/// The metrics of thesis table 4.9 that the model reads: SGEMM on 640×640 and 640×1280 matrices.
fn sgemm() -> gpucast_counters::KernelProfile {
    let text = "kernel = \"sgemm\"\ninvocations = 1\n[metrics]\nflop_count_sp_fma = 524288000\n\
                inst_fp_32 = 524288000\ninst_fp_64 = 0\ninst_executed = 46208000\n\
                inst_compute_ld_st = 721715200\ndram_read_transactions = 1218190\n\
                dram_write_transactions = 102400\n";
    gpucast_counters::import::read(text).unwrap().profiles.remove(0)
}

fn gpu(name: &str) -> Gpu {
    GpuLibrary::builtin().unwrap().as_written(name).unwrap().clone()
}

fn calibrated(gpu: Option<&str>) -> Conditions {
    let (dispatch_bytes, collect_bytes) = (56_800_000, 21_300_000);
    let model = Offload::MATRIX_MULTIPLICATION;
    let offload = CalibratedOffload { model, gpu: gpu.map(str::to_owned) };
    Conditions {
        transfers: Some(Transfers { dispatch_bytes, collect_bytes }),
        offload: Some(Arc::new(offload)),
        ..Conditions::default()
    }
}

/// 56.8 MB at 5.68 GB/s and 21.3 MB at 2.13 GB/s are 10 ms each; 2 × 524 288 000 operations at
/// 241.10 GFLOPS are 4.349 133 ms; and 1.928 ms.
#[test]
fn on_the_calibrated_gpu_equation_4_holds() {
    let prediction =
        OffloadModel.predict(&sgemm(), &gpu("gtx-480"), &calibrated(Some("gtx-480"))).unwrap();
    assert!((prediction.time_ms - 26.277_133).abs() < 1e-5, "{}", prediction.time_ms);
    assert_eq!(prediction.bound, Bound::Overhead);
    let parts: Vec<(&str, f64)> =
        prediction.parts.iter().map(|part| (part.name.as_str(), part.time_ms)).collect();
    let expected =
        [("dispatch", 10.0), ("execution", 4.349_133), ("collection", 10.0), ("constant", 1.928)];
    for ((name, time), (expected_name, expected)) in parts.iter().zip(expected) {
        assert_eq!(*name, expected_name);
        assert!((time - expected).abs() < 1e-5, "{name} {time}");
    }
    assert!(prediction.warnings.is_empty(), "{:?}", prediction.warnings);
}

#[test]
fn on_another_gpu_the_link_stays_and_the_execution_is_that_of_the_roofline() {
    let alone =
        QuantitativeRoofline.predict(&sgemm(), &gpu("gtx-660"), &Conditions::default()).unwrap();
    for measured in [Some("gtx-480"), None] {
        let prediction =
            OffloadModel.predict(&sgemm(), &gpu("gtx-660"), &calibrated(measured)).unwrap();
        assert!((prediction.time_ms - alone.time_ms - 21.928).abs() < 1e-9);
        let said = prediction.warnings.last().unwrap().to_string();
        assert!(said.contains(measured.unwrap_or("does not name")), "{said}");
    }
}

#[test]
fn without_a_calibration_or_an_execution_it_declines() {
    let none = OffloadModel.predict(&sgemm(), &gpu("gtx-480"), &Conditions::default());
    assert!(matches!(none, Err(ModelError::MissingCondition { .. })), "{none:?}");
    let counted = Conditions { transfers: None, ..calibrated(None) };
    let none = OffloadModel.predict(&sgemm(), &gpu("gtx-480"), &counted);
    assert!(matches!(none, Err(ModelError::MissingCondition { .. })), "{none:?}");
}
