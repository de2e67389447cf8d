//! From predictions to the data of pictures; `gpucast_plot` draws them.

pub mod breakdown;
pub mod errors;
pub mod mix;
pub mod occupancy;
pub mod quadrant_split;
pub mod roofline;
pub mod sensitivity;
pub mod spent;
pub mod stages;
pub mod sweep;
mod table;
pub mod warp;

use gpucast_forecast::input::kernel_name::demangled_short;

/// Letters that pictures have room for in a kernel's name.
const LONGEST_NAME: usize = 44;

/// Returns a kernel's name for titles, legends and labels. That is its name in the source, without
/// parameters, and without its middle if it is long. The parts that tell template instances apart
/// often stand at the end.
fn short_name(kernel: &str) -> String {
    let name = demangled_short(kernel).unwrap_or_else(|| kernel.to_owned());
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= LONGEST_NAME {
        return name;
    }
    let head = LONGEST_NAME * 2 / 3;
    let tail = LONGEST_NAME - head - 1;
    let ends = [&letters[..head], &['…'], &letters[letters.len() - tail..]];
    ends.into_iter().flatten().collect()
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
    fn long_names_keep_their_ends() {
        assert_eq!(short_name("sgemm"), "sgemm");
        assert_eq!(short_name("_Z5saxpyIfEvPT_f"), "saxpy<float>");
        let long = format!("begin_{}_end", "x".repeat(100));
        let short = short_name(&long);
        assert_eq!(short.chars().count(), LONGEST_NAME);
        assert!(short.starts_with("begin_xxx") && short.ends_with("xx_end"), "{short}");
    }

    #[test]
    fn lists_read_like_sentences() {
        assert_eq!(listed([]), "");
        assert_eq!(listed(["a"]), "a");
        assert_eq!(listed(["a", "b", "c"]), "a, b and c");
    }
}
