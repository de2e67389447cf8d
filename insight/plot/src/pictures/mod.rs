//! One file for each kind of picture.

pub mod banks;
pub mod bars;
pub mod curves;
pub mod errors;
pub mod heatmap;
pub mod lanes;
pub mod quadrant_split;
pub mod roofline;
pub mod sectors;
pub mod stages;
pub mod timeline;
pub mod tornado;

/// The lanes of a mask: `0–31`, `4`, `0–3, 8`.
fn lane_words(mask: u32) -> String {
    let mut words = Vec::new();
    let mut rest = u64::from(mask);
    while rest != 0 {
        let first = rest.trailing_zeros();
        let run = (rest >> first).trailing_ones();
        words.push(match run {
            1 => first.to_string(),
            _ => format!("{first}–{}", first + run - 1),
        });
        rest &= !((u64::MAX >> (64 - run)) << first);
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_told_in_runs() {
        assert_eq!(lane_words(u32::MAX), "0–31");
        assert_eq!(lane_words(0b1_0000), "4");
        assert_eq!(lane_words(0b1_0000_1111), "0–3, 8");
        assert_eq!(lane_words(1 << 31), "31");
        assert_eq!(lane_words(0), "");
    }
}
