//! Predicts a kernel's time on a GPU: GPU descriptions and the analytical models.
//!
//! | module | holds |
//! |---|---|
//! | [`cost_model`] | Stevens & Klöckner 2020: expressions in features of a kernel, calibrated |
//! | [`agreement`] | predictions against measurements: the papers' error formulas |
//! | [`conformal`] | the interval that measured times lie in, from the errors of measured kernels |
//! | [`energy`] | energy and power by counts of events; the clock that a power limit leaves |
//! | [`gpu`] | GPU descriptions, each figure with its unit and source; the built-in library |
//! | [`predictor`] | the inputs of every model and the registry of models |
//! | [`prediction`] | the results of every model: time, bound, symbols, explanation, warnings |
//! | [`component_throughput`] | Zhang & Owens 2011: instructions and two memories, by stages |
//! | [`hierarchical_roofline`] | Yang & Williams 2019: a roofline for each level of memory |
//! | [`offload`] | Velho et al. 2013: a kernel with its transfers, fitted to samples |
//! | [`quantitative_roofline`] | Konstantinidis 2017, the default model |
//! | [`reads`] | the fields of a GPU that each model reads |
//! | [`reference`](mod@reference) | the correction by a measured time; the error of a prediction |
//! | [`regression`] | linear least squares with uncertainties |
//! | [`roofs`] | the least time of each unit, below which no prediction may lie |
//! | [`sensitivity`] | the effect of each parameter of a GPU on a time |
//! | `sustained` | the clock that a long load leaves, where it is published |
//! | [`timing`] | the part that a way of measuring adds |
//! | [`warning`] | the assumptions of a model that a kernel breaks |
//! | [`what_if`](mod@what_if) | counts as they would be without conflicts, divergence, … |
//!
//! This crate reads counts (`gpucast_counters::KernelProfile`); it knows no PTX and no warps, and
//! it neither prints nor reads files.
//!
//! `Model::predict` checks three things for every model, in one place. Would the GPU refuse the
//! launch? Is the time below the least of a unit ([`roofs`])? Was a field changed that the model
//! does not read ([`reads`])? A model that lacks an input refuses with `ModelError`; `is_lack`
//! tells that apart from wrong input.
//!
//! A `Gpu` read from a file keeps the file's values. `Gpu::completed` fills open fields in this
//! order: limits and counting rules of the capability, its rates and latencies
//! (`data/capabilities.toml`), then rules. The rules of `gpu/derive` stand in the order of their
//! inputs. `gpu/overrides` scales given fields that have a rule by the rule's value after over its
//! value before, and fills filled ones anew. So nothing measured stays when its input changes.
//!
//! A what-if changes counts and conditions *before* a model sees them, so it holds for every model.
//! A prediction's `Detail` holds the model's own analysis under its own type, so pictures and
//! sweeps parse no symbols.

pub mod agreement;
mod assumptions;
mod bound;
pub mod component_throughput;
pub mod conformal;
pub mod cost_model;
pub mod energy;
mod evidence;
mod first_level;
pub mod gpu;
mod gpu_parameter;
pub mod hierarchical_roofline;
mod inputs;
pub mod interval;
mod model_error;
mod needs;
pub mod offload;
pub mod prediction;
pub mod predictor;
pub mod quantitative_roofline;
pub mod reads;
pub mod reference;
pub mod roofs;
pub mod sensitivity;
pub mod sm_simulation;
mod sustained;
mod symbols;
pub mod tensor;
mod text;
pub mod timing;
pub mod warning;
pub mod what_if;

pub use component_throughput::ComponentThroughput;
pub use conformal::TimeInterval;
pub use cost_model::CostModel;
pub use energy::Energy;
pub use gpucast_cost_model::regression;

pub use gpu::{Basis, CountingError, Gpu, GpuError, GpuLibrary, UnknownGpu};
pub use hierarchical_roofline::HierarchicalRoofline;
pub use interval::Interval;
pub use needs::Needs;
pub use prediction::{
    Bound, Component, Detail, Outcome, Part, Prediction, Symbol, SymbolValue, Symbols,
};
pub use predictor::{
    Axes, Conditions, CountedOn, Evidence, Extent, GpuParameter, InstructionFacts, LaunchShape,
    Merged, Model, ModelError, UnknownModel,
};
pub use quantitative_roofline::{QuantitativeRoofline, RefinedRoofline};
pub use reference::{Reference, error_fraction, predict_with_reference, utilisation_factor};
pub use sm_simulation::SmSimulation;
pub use sustained::Sustained;
pub use text::{duration, duration_range, rough_duration};
pub use timing::{AskedTiming, Timing};
pub use warning::Warning;
pub use what_if::WhatIf;
