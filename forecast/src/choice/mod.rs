//! Names of GPUs, models and metrics, and what they stand for.

pub mod cost_model;
pub mod gpu_argument;
pub mod metric_choice;
pub mod model_choice;
