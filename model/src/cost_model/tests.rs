//! Predictions, and the paper's table 3.

mod predicting;
