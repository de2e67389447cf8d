//! Names of accelerators that run no CUDA, so that a complaint can say so instead of guessing at a
//! misspelling.

/// A maker of accelerators, and how their names look in lower case without blanks and dashes.
struct Maker {
    name: &'static str,
    /// Words that only this maker's names begin with.
    brands: &'static [&'static str],
    /// Beginnings that a digit follows.
    series: &'static [&'static str],
    /// Whole names.
    chips: &'static [&'static str],
}

const MAKERS: [Maker; 5] = [
    Maker {
        name: "AMD",
        brands: &["amd", "radeon", "instinct", "firepro"],
        series: &["mi", "rx"],
        chips: &["vega", "vega56", "vega64"],
    },
    Maker {
        name: "Intel",
        brands: &["intel", "gaudi", "pontevecchio"],
        series: &["arca", "arcb", "max", "flex"],
        chips: &["pvc"],
    },
    Maker {
        name: "Apple",
        brands: &["apple"],
        series: &[],
        // NVIDIA's Tesla M10, M40 and M60 look alike.
        chips: &["m1", "m2", "m3", "m4", "m5", "m1max", "m2max", "m3max", "m4max", "m2ultra"],
    },
    Maker { name: "Google", brands: &["google", "tpu", "trillium"], series: &[], chips: &[] },
    Maker { name: "AWS", brands: &["aws", "trainium", "inferentia"], series: &["trn"], chips: &[] },
];

/// The maker of an accelerator that runs no CUDA, if the name is one's.
pub(super) fn maker(name: &str) -> Option<&'static str> {
    let bare: String =
        name.to_lowercase().chars().filter(|letter| letter.is_ascii_alphanumeric()).collect();
    let is_of_series = |series: &&str| {
        let rest = bare.strip_prefix(*series);
        rest.is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
    };
    let makes = |maker: &&Maker| {
        maker.brands.iter().any(|brand| bare.starts_with(brand))
            || maker.series.iter().any(&is_of_series)
            || maker.chips.contains(&bare.as_str())
    };
    MAKERS.iter().find(makes).map(|maker| maker.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_makers_are_known_and_nvidias_names_are_not_taken_for_theirs() {
        for (name, expected) in [
            ("MI300X", "AMD"),
            ("mi250", "AMD"),
            ("AMD Instinct MI300A", "AMD"),
            ("rx-7900-xtx", "AMD"),
            ("Arc A770", "Intel"),
            ("gaudi3", "Intel"),
            ("apple m3 max", "Apple"),
            ("m4", "Apple"),
            ("tpu-v5e", "Google"),
            ("trn2", "AWS"),
        ] {
            assert_eq!(maker(name), Some(expected), "{name}");
        }
        for name in ["h100", "rtx-4090", "a100", "gtx-48", "tesla-m2050", "m40", "t4", "m4000", ""]
        {
            assert_eq!(maker(name), None, "{name}");
        }
    }
}
