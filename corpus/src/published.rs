//! Measurements from the literature: the profiler's counts and the kernels' times.

/// Metrics files by the entry that they belong to.
const METRICS: [(&str, &str); 12] = [
    ("sgemm", include_str!("../published/sgemm.toml")),
    ("sgemm-16", include_str!("../published/sgemm-16.toml")),
    ("sor-red-black", include_str!("../published/sor.toml")),
    ("lmsor", include_str!("../published/lmsor.toml")),
    ("hotspot3d", include_str!("../published/3d-htsp.toml")),
    ("kmeans-invert-mapping", include_str!("../published/km-map.toml")),
    ("kmeans-point", include_str!("../published/km-pt.toml")),
    ("cfd-time-step", include_str!("../published/e3d-step.toml")),
    ("srad-1", include_str!("../published/srad-c1.toml")),
    ("merge-sort-first", include_str!("../published/hs-srtf.toml")),
    ("nearest-neighbour", include_str!("../published/nn-euc.toml")),
    ("leukocyte-dilate", include_str!("../published/lct-dil.toml")),
];

/// The thesis's predicted and measured times by kernel and GPU, as TOML.
pub const TIMES: &str = include_str!("../published/times.toml");

/// Times that others measured of corpus kernels, as durations or rates, as TOML.
pub const MEASURED: &str = include_str!("../published/measured.toml");

/// Times of corpus kernels that were measured for this corpus, by the name of their set. Files have
/// the form of [`MEASURED`] and lie in `corpus/measured`. A new file needs its line here, and
/// `evaluate record` of `forecast/examples/evaluate` then takes it into the tables of errors.
pub const SETS: &[(&str, &str)] = &[
    ("h100-sxm", include_str!("../measured/h100-sxm.toml")),
    ("h200", include_str!("../measured/h200.toml")),
];

/// The metrics file of the entry of this name, if a paper printed its counts.
pub fn metrics(entry: &str) -> Option<&'static str> {
    METRICS.iter().find(|(name, _)| *name == entry).map(|(_, metrics)| *metrics)
}

/// Papers' figures for kernels other than the thesis's, as TOML. Each figure has the `place` in the
/// paper, the `kernel`, the `quantity` and its `value`.
pub const FIGURES: [&str; 3] = [
    include_str!("../published/zhang-owens.toml"),
    include_str!("../published/stevens-kloeckner.toml"),
    include_str!("../published/yang-williams.toml"),
];
