//! From predictions to the data of pictures; `gpucast_plot` draws them.

pub(crate) mod breakdown;
pub(crate) mod errors;
pub(crate) mod mix;
pub(crate) mod quadrant_split;
pub(crate) mod roofline;
pub(crate) mod sensitivity;
pub(crate) mod stages;
pub(crate) mod sweep;
mod table;

use gpucast_model::{Prediction, SymbolValue};

/// The value of a symbol, wherever the prediction has it.
fn symbol(prediction: &Prediction, name: &str) -> Option<f64> {
    let symbols = [&prediction.parameters, &prediction.intermediate];
    symbols.into_iter().find_map(|symbols| symbols.get(name)).and_then(SymbolValue::as_f64)
}

/// The title of a picture: the user's, before its own where there are several in a file.
fn titled(own: String, users: Option<&str>, several: bool) -> String {
    match users {
        None => own,
        Some(title) if several => format!("{title}: {own}"),
        Some(title) => title.to_owned(),
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = names.into_iter().collect();
    names.dedup();
    match names.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_like_sentences() {
        assert_eq!(listed([]), "");
        assert_eq!(listed(["a"]), "a");
        assert_eq!(listed(["a", "b", "c"]), "a, b and c");
    }
}
