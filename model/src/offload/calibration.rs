//! Rates and constants from measured samples.

use serde::Serialize;
use thiserror::Error;

use super::{Offload, Workload, symmetric_error};
use crate::regression::{LinearFit, RegressionError};

/// The measured time of a sample, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MeasuredTime {
    /// Dispatch, execution and collection apart.
    Steps([f64; 3]),
    /// The whole.
    Total(f64),
}

impl MeasuredTime {
    /// The whole, in seconds.
    #[must_use]
    pub fn total(&self) -> f64 {
        match self {
            Self::Steps(steps) => steps.iter().sum(),
            Self::Total(total) => *total,
        }
    }
}

/// A measured run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The work that was done.
    pub workload: Workload,
    /// The time that it took.
    pub time: MeasuredTime,
}

/// One rate with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// Per second.
    pub value: f64,
    /// The ends of the confidence interval; none if there are too few samples. The upper end is
    /// infinite if the samples do not tell the step from one that takes no time.
    pub interval: Option<(f64, f64)>,
}

/// A constant term with its uncertainty, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Constant {
    /// Its value.
    pub value: f64,
    /// The ends of the confidence interval; none if there are too few samples.
    pub interval: Option<(f64, f64)>,
}

/// A step that was fitted on its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepFit {
    /// β.
    pub constant: Constant,
    /// R² of its regression.
    pub r_squared: f64,
}

/// A model fitted to samples, and its errors on those that it was not fitted to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// The model.
    pub model: Offload,
    /// Rates of dispatch (bytes), execution (operations) and collection (bytes).
    pub rates: [Rate; 3],
    /// The constant of each step with its R², if the samples give the steps' times.
    pub steps: Option<[StepFit; 3]>,
    /// The sum of the constants.
    pub constant: Constant,
    /// R² of the total over the samples that the model was fitted to.
    pub r_squared: f64,
    /// The number of samples that the model was fitted to.
    pub fitted: usize,
    /// The number of samples that it was evaluated on.
    pub evaluated: usize,
    /// The largest ε over the evaluated samples.
    pub worst_error: f64,
    /// The mean ε over the evaluated samples.
    pub mean_error: f64,
    /// The confidence of all intervals.
    pub confidence: f64,
}

/// The reason why samples give no model.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CalibrationError {
    /// No plane goes through them.
    #[error("{step} cannot be fitted: {error}")]
    Regression {
        /// The step.
        step: &'static str,
        /// The reason.
        error: RegressionError,
    },
    /// More work would take less time.
    #[error(
        "{step} gets faster with more work in these samples ({slope:.3e} s per unit), which no rate can express"
    )]
    NegativeRate {
        /// The step.
        step: &'static str,
        /// Seconds per byte or operation.
        slope: f64,
    },
    /// A time that cannot be one.
    #[error("sample {sample} takes {seconds} s, which no measured time can be")]
    ImpossibleTime {
        /// Counted from 1.
        sample: usize,
        /// The time.
        seconds: f64,
    },
    /// Some samples give steps, others totals.
    #[error("sample {sample} gives its time in another way than the first one")]
    Mixed {
        /// Counted from 1.
        sample: usize,
    },
}

const STEPS: [&str; 3] = ["dispatch", "execution", "collection"];

impl Calibration {
    /// Fits the model to every `every`-th sample, the first among them, and evaluates it on the
    /// others. With `every` 1, or if nothing else is left, it evaluates it on all. The paper fits a
    /// third of its samples.
    ///
    /// # Errors
    ///
    /// If the samples contradict themselves or do not determine the model.
    pub fn new(
        samples: &[Sample],
        every: usize,
        confidence: f64,
    ) -> Result<Self, CalibrationError> {
        check(samples)?;
        let every = every.max(1);
        let chosen = |wanted: bool| {
            let is_wanted = move |(at, _): &(usize, &Sample)| (at % every == 0) == wanted;
            samples.iter().enumerate().filter(is_wanted).map(|(_, sample)| *sample)
        };
        let fitted: Vec<Sample> = chosen(true).collect();
        let mut evaluated: Vec<Sample> = chosen(false).collect();
        if evaluated.is_empty() {
            evaluated = samples.to_vec();
        }
        let (rates, steps, constant) = match fitted.first().map(|sample| sample.time) {
            Some(MeasuredTime::Steps(_)) => fit_steps(&fitted, confidence)?,
            _ => fit_total(&fitted, confidence)?,
        };
        let [dispatch, execution, collection] = rates.map(|rate| rate.value);
        let model = Offload {
            dispatch_bandwidth: dispatch,
            gpu_speed: execution,
            collect_bandwidth: collection,
            constant: constant.value,
        };
        let errors: Vec<f64> = evaluated
            .iter()
            .map(|sample| symmetric_error(model.time(&sample.workload), sample.time.total()))
            // The logarithm of a negative time is none: such a prediction is infinitely wrong.
            .map(|error| if error.is_nan() { f64::INFINITY } else { error })
            .collect();
        Ok(Self {
            model,
            rates,
            steps,
            constant,
            r_squared: r_squared(&model, &fitted),
            fitted: fitted.len(),
            evaluated: evaluated.len(),
            worst_error: errors.iter().copied().fold(0.0, f64::max),
            mean_error: errors.iter().sum::<f64>() / errors.len().max(1) as f64,
            confidence,
        })
    }
}

fn check(samples: &[Sample]) -> Result<(), CalibrationError> {
    let is_steps = |sample: &Sample| matches!(sample.time, MeasuredTime::Steps(_));
    for (at, sample) in samples.iter().enumerate() {
        if is_steps(sample) != is_steps(&samples[0]) {
            return Err(CalibrationError::Mixed { sample: at + 1 });
        }
        let seconds = sample.time.total();
        if !(seconds.is_finite() && seconds > 0.0) {
            return Err(CalibrationError::ImpossibleTime { sample: at + 1, seconds });
        }
    }
    Ok(())
}

type Fitted = ([Rate; 3], Option<[StepFit; 3]>, Constant);

/// Three lines, one for each step.
fn fit_steps(samples: &[Sample], confidence: f64) -> Result<Fitted, CalibrationError> {
    let fit = |step: usize| {
        let rows: Vec<Vec<f64>> =
            samples.iter().map(|sample| vec![sample.workload.steps()[step], 1.0]).collect();
        let times: Vec<f64> = samples
            .iter()
            .map(|sample| match sample.time {
                MeasuredTime::Steps(times) => times[step],
                MeasuredTime::Total(total) => total,
            })
            .collect();
        let fit = LinearFit::new(&rows, &times)
            .map_err(|error| CalibrationError::Regression { step: STEPS[step], error })?;
        let constant = constant(&fit, 1, confidence);
        let rate = rate(&fit, 0, confidence, STEPS[step])?;
        Ok((rate, StepFit { constant, r_squared: fit.r_squared }))
    };
    let fits = [fit(0)?, fit(1)?, fit(2)?];
    let steps = fits.map(|(_, step)| step);
    // The steps' errors are taken to be independent, so the squares of their margins add up.
    let margin = steps.iter().try_fold(0.0, |sum, step| {
        let (low, high) = step.constant.interval?;
        Some(sum + ((high - low) / 2.0).powi(2))
    });
    let value = steps.iter().map(|step| step.constant.value).sum();
    let interval = margin.map(|squares: f64| (value - squares.sqrt(), value + squares.sqrt()));
    Ok((fits.map(|(rate, _)| rate), Some(steps), Constant { value, interval }))
}

/// One plane for the sum of the steps.
fn fit_total(samples: &[Sample], confidence: f64) -> Result<Fitted, CalibrationError> {
    let row = |sample: &Sample| {
        let [dispatch, execution, collection] = sample.workload.steps();
        vec![dispatch, execution, collection, 1.0]
    };
    let rows: Vec<Vec<f64>> = samples.iter().map(row).collect();
    let times: Vec<f64> = samples.iter().map(|sample| sample.time.total()).collect();
    let fit = LinearFit::new(&rows, &times)
        .map_err(|error| CalibrationError::Regression { step: "the total time", error })?;
    let rates = [
        rate(&fit, 0, confidence, STEPS[0])?,
        rate(&fit, 1, confidence, STEPS[1])?,
        rate(&fit, 2, confidence, STEPS[2])?,
    ];
    Ok((rates, None, constant(&fit, 3, confidence)))
}

/// The rate whose reciprocal is a coefficient.
fn rate(
    fit: &LinearFit,
    coefficient: usize,
    confidence: f64,
    step: &'static str,
) -> Result<Rate, CalibrationError> {
    let slope = fit.coefficients[coefficient].value;
    if slope <= 0.0 {
        return Err(CalibrationError::NegativeRate { step, slope });
    }
    let interval = fit.margin(coefficient, confidence).map(|margin| {
        let upper = if slope > margin { (slope - margin).recip() } else { f64::INFINITY };
        ((slope + margin).recip(), upper)
    });
    Ok(Rate { value: slope.recip(), interval })
}

fn constant(fit: &LinearFit, coefficient: usize, confidence: f64) -> Constant {
    let value = fit.coefficients[coefficient].value;
    let margin = fit.margin(coefficient, confidence);
    Constant { value, interval: margin.map(|margin| (value - margin, value + margin)) }
}

/// R² of the total times.
fn r_squared(model: &Offload, samples: &[Sample]) -> f64 {
    let mean = samples.iter().map(|sample| sample.time.total()).sum::<f64>() / samples.len() as f64;
    let squares = |of: &dyn Fn(&Sample) -> f64| -> f64 {
        samples.iter().map(|sample| (sample.time.total() - of(sample)).powi(2)).sum()
    };
    let spread = squares(&|_| mean);
    if spread > 0.0 { 1.0 - squares(&|sample| model.time(&sample.workload)) / spread } else { 1.0 }
}
