use super::formula;
use crate::regression::LinearFit;
use crate::{Calibration, CalibrationError, Formula, Sample, Scale, Settings, calibrate};

fn unscaled() -> Settings {
    Settings { scale: Scale::None, ..Settings::default() }
}

fn samples(rows: &[(&[f64], f64)]) -> Vec<Sample> {
    let of = |(at, (features, output)): (usize, &(&[f64], f64))| Sample {
        name: format!("sample {at}"),
        features: features.to_vec(),
        output: *output,
    };
    rows.iter().enumerate().map(of).collect()
}

fn close(found: f64, expected: f64, digits: f64) {
    assert!((found / expected - 1.0).abs() < 10.0_f64.powf(-digits), "{found} {expected}");
}

/// Uniform numbers from 0 to 1 (SplitMix64).
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Normally distributed, by Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// NIST's reference data set Misra1a for nonlinear regression: data, certified parameters, standard
/// errors and residual sum of squares, from both of its starting places.
#[test]
fn certified_values_of_nist_are_found() {
    let model = formula("p_b1 * (1 - exp(-p_b2 * f_work_items))");
    let data: [(&[f64], f64); 14] = [
        (&[77.6], 10.07),
        (&[114.9], 14.73),
        (&[141.1], 17.94),
        (&[190.8], 23.93),
        (&[239.9], 29.61),
        (&[289.0], 35.18),
        (&[332.8], 40.02),
        (&[378.4], 44.82),
        (&[434.8], 50.76),
        (&[477.3], 55.05),
        (&[536.8], 61.01),
        (&[593.1], 66.40),
        (&[689.1], 75.47),
        (&[760.0], 81.78),
    ];
    for start in [[500.0, 0.0001], [250.0, 0.0005]] {
        let start = ["p_b1", "p_b2"].map(str::to_owned).into_iter().zip(start).collect();
        let settings = Settings { start, ..unscaled() };
        let found = calibrate(&model, &samples(&data), &settings).unwrap();
        close(found.parameters[0].value, 2.389_421_291_8e2, 8.0);
        close(found.parameters[1].value, 5.501_564_318_1e-4, 8.0);
        close(found.parameters[0].standard_error.unwrap(), 2.707_007_524_1, 7.0);
        close(found.parameters[1].standard_error.unwrap(), 7.266_868_843_6e-6, 7.0);
        close(found.residual.powi(2), 1.245_513_889_4e-1, 8.0);
        assert_eq!(found.degrees_of_freedom, 12);
        assert!(found.converged, "{}", found.termination);
    }
}

/// In a linear model the minimum is that of linear regression, and so are the standard errors.
#[test]
fn linear_models_are_linear_regression() {
    let model = formula("p_a * f_thread_groups + p_b * f_work_items + p_c * f_sync_kernel_launch");
    let mut random = Random(1);
    let rows: Vec<Vec<f64>> =
        (1..=20).map(|at| vec![1e4 * f64::from(at), 1e9 * random.uniform(), 1.0]).collect();
    let times: Vec<f64> = rows
        .iter()
        .map(|row| (2e-9 * row[0] + 3e-12 * row[1] + 5e-6) * (1.0 + 0.05 * random.normal()))
        .collect();
    let rows_of: Vec<(&[f64], f64)> =
        rows.iter().zip(&times).map(|(row, &time)| (row.as_slice(), time)).collect();
    let expected = LinearFit::new(&rows, &times).unwrap();
    let scaled: Vec<Vec<f64>> = rows
        .iter()
        .zip(&times)
        .map(|(row, time)| row.iter().map(|value| value / time).collect())
        .collect();
    let expected_scaled = LinearFit::new(&scaled, &[1.0; 20]).unwrap();
    for (scale, expected_fit) in [
        (Scale::None, &expected),
        (Scale::Features, &expected_scaled),
        (Scale::Residuals, &expected_scaled),
    ] {
        let settings = Settings { scale, ..Settings::default() };
        let found = calibrate(&model, &samples(&rows_of), &settings).unwrap();
        for (at, (one, expected)) in
            found.parameters.iter().zip(&expected_fit.coefficients).enumerate()
        {
            close(one.value, expected.value, 7.0);
            close(one.standard_error.unwrap(), expected.standard_error.unwrap(), 6.0);
            close(one.margin.unwrap(), expected_fit.margin(at, 0.95).unwrap(), 6.0);
        }
    }
}

/// A set of measurement kernels as in section 7.1.2: each varies one feature, the others little.
fn measurement_kernels() -> Vec<[f64; 4]> {
    let mut rows = Vec::new();
    for step in 1..=6 {
        let step = f64::from(step);
        rows.push([2e8 * step, 1e6, 16384.0, 1.0]);
        rows.push([1e6, 3e8 * step, 16384.0, 1.0]);
        rows.push([1e5, 1e5, 2e5 * step, 1.0]);
        rows.push([1e3, 1e3, 16.0 * step, 1.0]);
        // Both, in changing proportions: the kernel of section 7.4.
        rows.push([4e8, 6e8 * step / 3.0, 16384.0, 1.0]);
    }
    rows
}

const TRUE: [f64; 4] = [4.8e-12, 9.5e-12, 1.6e-9, 7.7e-5];

fn overlapping() -> Formula {
    formula(
        "overlap(p_gmem * f_mem_access_global, p_lmem * f_mem_access_local, p_edge) \
         + p_group * f_thread_groups + p_launch * f_sync_kernel_launch",
    )
}

/// Measures with a relative noise what costs [`TRUE`] make, seconds by equation 8 (`edge`) or 7.
fn measured(edge: Option<f64>, noise: f64, seed: u64) -> Vec<Sample> {
    let mut random = Random(seed);
    let of = |(at, row): (usize, [f64; 4])| {
        let [gmem, lmem, group, launch] = std::array::from_fn(|place| row[place] * TRUE[place]);
        let work = match edge {
            None => gmem + lmem,
            Some(edge) => {
                let step = |x: f64| ((edge * x).tanh() + 1.0) / 2.0;
                gmem * step(gmem - lmem) + lmem * step(lmem - gmem)
            }
        };
        let time = (work + group + launch) * (1.0 + noise * random.normal());
        Sample { name: format!("kernel {at}"), features: row.to_vec(), output: time }
    };
    measurement_kernels().into_iter().enumerate().map(of).collect()
}

fn parameter(found: &Calibration, name: &str) -> (f64, Option<f64>) {
    let one = found.parameters.iter().find(|parameter| parameter.name == name).unwrap();
    (one.value, one.standard_error)
}

/// Without noise the parameters come back to the last digits, of the linear model and of the
/// overlapping one, from the usual starting places.
#[test]
fn exact_times_give_the_parameters_back() {
    let linear = formula(
        "p_gmem * f_mem_access_global + p_lmem * f_mem_access_local \
         + p_group * f_thread_groups + p_launch * f_sync_kernel_launch",
    );
    let names = ["p_gmem", "p_lmem", "p_group", "p_launch"];
    for scale in [Scale::Features, Scale::Residuals] {
        let settings = Settings { scale, ..Settings::default() };
        let found = calibrate(&linear, &measured(None, 0.0, 1), &settings).unwrap();
        for (name, expected) in names.iter().zip(TRUE) {
            close(parameter(&found, name).0, expected, 9.0);
        }
        assert!(found.residual < 1e-10 && found.worst_error < 1e-10);
    }
    let edge = 1.3e3;
    let settings = Settings { scale: Scale::Residuals, ..Settings::default() };
    let found = calibrate(&overlapping(), &measured(Some(edge), 0.0, 1), &settings).unwrap();
    for (name, expected) in names.iter().zip(TRUE) {
        close(parameter(&found, name).0, expected, 6.0);
    }
    close(parameter(&found, "p_edge").0, edge, 5.0);
    assert_eq!(found.negative().count(), 0);
}

/// Equation 5 has no overhead. Its costs come back from kernels that have work alone.
#[test]
fn exact_times_of_equation_5_give_its_costs_back() {
    let model =
        formula("overlap(p_gmem * f_mem_access_global, p_lmem * f_mem_access_local, p_edge)");
    let edge = 2e3;
    let step = |x: f64| ((edge * x).tanh() + 1.0) / 2.0;
    let rows: Vec<[f64; 2]> =
        measurement_kernels().into_iter().map(|[gmem, lmem, ..]| [gmem, lmem]).collect();
    let time = |[gmem, lmem]: &[f64; 2]| {
        let (gmem, lmem) = (gmem * TRUE[0], lmem * TRUE[1]);
        gmem * step(gmem - lmem) + lmem * step(lmem - gmem)
    };
    let rows: Vec<(&[f64], f64)> = rows.iter().map(|row| (row.as_slice(), time(row))).collect();
    for scale in [Scale::Residuals, Scale::None] {
        let settings = Settings { scale, ..Settings::default() };
        let found = calibrate(&model, &samples(&rows), &settings).unwrap();
        for (name, expected) in
            ["p_gmem", "p_lmem", "p_edge"].into_iter().zip([TRUE[0], TRUE[1], edge])
        {
            close(parameter(&found, name).0, expected, 5.0);
        }
        assert!(found.worst_error < 1e-6, "{}", found.worst_error);
    }
}

/// With 2 % noise the errors are those that the standard errors promise: of 200 calibrations, the
/// 95 % margins hold the true cost in 95 % (binomial: 190 ± 3.1; 178 to 200 is within 4
/// deviations).
#[test]
fn noisy_times_give_the_parameters_back_within_their_errors() {
    let linear = formula(
        "p_gmem * f_mem_access_global + p_lmem * f_mem_access_local \
         + p_group * f_thread_groups + p_launch * f_sync_kernel_launch",
    );
    let names = ["p_gmem", "p_lmem", "p_group", "p_launch"];
    let settings = Settings { scale: Scale::Residuals, ..Settings::default() };
    for (model, edge) in [(linear, None), (overlapping(), Some(1.3e3))] {
        let mut covered = [0; 4];
        for seed in 0..200 {
            let found = calibrate(&model, &measured(edge, 0.02, seed), &settings).unwrap();
            for (place, (name, expected)) in names.iter().zip(TRUE).enumerate() {
                let one =
                    found.parameters.iter().find(|parameter| parameter.name == *name).unwrap();
                covered[place] += u32::from((one.value - expected).abs() <= one.margin.unwrap());
                // Errors are small at all: 2 % of noise over 6 and more kernels.
                close(one.value, expected, 1.0);
            }
            // The mean relative error of normal noise is 0.8 of its deviation.
            assert!(found.mean_error < 0.025 && found.mean_error > 0.008);
        }
        for (name, covered) in names.iter().zip(covered) {
            assert!((178..=200).contains(&covered), "{name}: {covered} of 200");
        }
    }
}

/// A model without the overlap that the times have cannot explain them, and says so.
#[test]
fn a_wrong_model_shows_in_its_residual() {
    let linear = formula(
        "p_gmem * f_mem_access_global + p_lmem * f_mem_access_local \
         + p_group * f_thread_groups + p_launch * f_sync_kernel_launch",
    );
    let times = measured(Some(1.3e3), 0.01, 7);
    let settings = Settings { scale: Scale::Residuals, ..Settings::default() };
    let wrong = calibrate(&linear, &times, &settings).unwrap();
    let right = calibrate(&overlapping(), &times, &settings).unwrap();
    assert!(wrong.residual > 5.0 * right.residual, "{} {}", wrong.residual, right.residual);
    assert!(wrong.geometric_mean_error > 2.0 * right.geometric_mean_error);
}

/// Times 1, 2, 4 of work 1, 2, 3 with a constant: the line 1.5 x − 2/3 through them has a negative
/// constant.
#[test]
fn negative_costs_are_flagged() {
    let model = formula("p_work * f_work_items + p_launch * f_sync_kernel_launch");
    let rows: [(&[f64], f64); 3] = [(&[1.0, 1.0], 1.0), (&[2.0, 1.0], 2.0), (&[3.0, 1.0], 4.0)];
    let found = calibrate(&model, &samples(&rows), &unscaled()).unwrap();
    close(found.parameters[0].value, 1.5, 9.0);
    close(found.parameters[1].value, -2.0 / 3.0, 9.0);
    let negative: Vec<&str> = found.negative().map(|negative| negative.name.as_str()).collect();
    assert_eq!(negative, ["p_launch"]);
    // Modelled 5/6, 7/3, 23/6: errors of 1/6, 1/6, 1/24.
    close(found.worst_error, 1.0 / 6.0, 9.0);
    close(found.mean_error, (1.0 / 6.0 + 1.0 / 6.0 + 1.0 / 24.0) / 3.0, 9.0);
    close(found.geometric_mean_error, (1.0_f64 / 6.0 / 6.0 / 24.0).cbrt(), 9.0);
}

#[test]
fn samples_that_cannot_tell_are_refused() {
    let model = formula("p_a * f_work_items + p_b * f_sub_groups");
    let failure = |rows: &[(&[f64], f64)], settings: &Settings| {
        calibrate(&model, &samples(rows), settings).unwrap_err()
    };
    let two: [(&[f64], f64); 2] = [(&[1.0, 2.0], 1.0), (&[2.0, 1.0], 1.0)];
    let usual = Settings::default();
    assert_eq!(
        failure(&two[..1], &usual),
        CalibrationError::TooFewSamples { samples: 1, parameters: 2 }
    );
    // Sub-groups always are half the work-items.
    let alike: [(&[f64], f64); 3] = [(&[2.0, 1.0], 1.0), (&[4.0, 2.0], 2.1), (&[8.0, 4.0], 3.9)];
    let dependent = CalibrationError::Dependent { parameter: "p_b".to_owned() };
    assert_eq!(failure(&alike, &usual), dependent);
    let absent: [(&[f64], f64); 3] = [(&[2.0, 0.0], 1.0), (&[4.0, 0.0], 2.0), (&[8.0, 0.0], 4.0)];
    assert_eq!(
        failure(&absent, &usual),
        CalibrationError::AbsentFeature {
            feature: "f_sub_groups".to_owned(),
            parameter: "p_b".to_owned()
        }
    );
    for output in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = failure(&[two[0], (&[1.0, 1.0], output)], &usual);
        assert!(matches!(error, CalibrationError::BadSample { sample: 2, .. }), "{error}");
    }
    let start = [("p_c".to_owned(), 1.0)].into_iter().collect();
    let error = failure(&two, &Settings { start, ..Settings::default() });
    assert_eq!(error, CalibrationError::UnknownStart { name: "p_c".to_owned() });
    let constant = formula("f_work_items * 2");
    let error = calibrate(&constant, &samples(&[(&[1.0], 1.0)]), &usual).unwrap_err();
    assert_eq!(error, CalibrationError::NoParameters);
}
