//! Names of GPUs, models and metrics, and their meanings.

pub mod cost_model;
pub mod count_on;
pub mod gpu_argument;
pub mod metric_choice;
pub mod model_choice;
