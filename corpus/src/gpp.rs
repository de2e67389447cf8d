//! The GPP family: the number of frequencies, fused multiply-adds or not, and the stride of the
//! loop.
//!
//! Its launch files differ only in those, so they are written once, here.

use crate::entry::{Entry, Module, module};

const SOURCE: &str = include_str!("../kernels/gpp/kernel.cu");

const MODULES: &[Module] = &[module!("gpp", "sm_35"), module!("gpp", "sm_80")];

/// A launch file. Complex numbers are pairs of f64, so that lengths are twice the numbers.
macro_rules! launch {
    ($kernel:literal, $stride:literal, $comment:literal, bands: $bands:literal,
     columns: $columns:literal, count: $count:literal,
     lens: $m:literal, $columns_len:literal, $w:literal, $sums:literal) => {
        concat!(
            "# ",
            $comment,
            "\nmodule = \"sm_35.ptx\"\n\n[buffers.m]\ntype = \"f64\"\nlen = ",
            $m,
            " # ",
            $bands,
            " bands of ",
            $count,
            " complex numbers\n",
            "init = { uniform = { low = -1.0, high = 1.0, seed = 1 } }\n\n",
            "[buffers.epsilon]\ntype = \"f64\"\nlen = ",
            $columns_len,
            " # ",
            $columns,
            " columns of ",
            $count,
            " complex numbers\n",
            "init = { uniform = { low = -1.0, high = 1.0, seed = 2 } }\n\n",
            "[buffers.pole]\ntype = \"f64\"\nlen = ",
            $columns_len,
            " # ",
            $columns,
            " columns of ",
            $count,
            " complex numbers\n",
            "init = { uniform = { low = 0.5, high = 1.0, seed = 3 } }\n\n",
            "# Frequencies stay away from the poles.\n",
            "[buffers.w]\ntype = \"f64\"\nlen = ",
            $w,
            "\ninit = { uniform = { low = 1.5, high = 2.5, seed = 4 } }\n\n",
            "[buffers.sums]\ntype = \"f64\"\nlen = ",
            $sums,
            "\ninit = \"zero\"\n\n[[launch]]\nkernel = \"",
            $kernel,
            "\"\ngrid = [",
            $bands,
            ", ",
            $columns,
            ", 1]\nblock = [256, 1, 1]\n",
            "args = [\"m\", \"epsilon\", \"pole\", \"w\", \"sums\", { s32 = ",
            $count,
            " }, { s32 = ",
            $stride,
            " }]\n\n[[expect]]\nbuffer = \"sums\"\nreference = \"gpp\"\nrtol = 1e-10\natol = 1e-9\n"
        )
    };
}

macro_rules! member {
    ($name:literal, $kernel:literal, $stride:literal, $summary:literal,
     full: $w:literal $sums:literal, small: $w_small:literal $sums_small:literal) => {
        Entry {
            name: $name,
            family: "gpp",
            summary: $summary,
            source: SOURCE,
            modules: MODULES,
            launch: launch!(
                $kernel, $stride,
                "The medium size of the slides: 512 bands, 2 columns, 32768 elements; 258 MiB.",
                bands: 512, columns: 2, count: 32768, lens: 33554432, 131072, $w, $sums
            ),
            launch_small: launch!(
                $kernel, $stride, "Few bands and elements, for quick tests.",
                bands: 3, columns: 2, count: 520, lens: 3120, 2080, $w_small, $sums_small
            ),
            references: &["gpp"],
            published: None,
        }
    };
}

pub(crate) const FAMILY: &[Entry] = &[
    member!("gpp-nw1", "gpp_nw1", 1, "plasmon-pole sums in complex f64, 1 frequency at a time",
        full: 512 2048, small: 3 12),
    member!("gpp-nw2", "gpp_nw2", 1, "plasmon-pole sums in complex f64, 2 frequencies at a time",
        full: 1024 4096, small: 6 24),
    member!("gpp-nw3", "gpp_nw3", 1, "plasmon-pole sums in complex f64, 3 frequencies at a time",
        full: 1536 6144, small: 9 36),
    member!("gpp-nw4", "gpp_nw4", 1, "plasmon-pole sums in complex f64, 4 frequencies at a time",
        full: 2048 8192, small: 12 48),
    member!("gpp-nw5", "gpp_nw5", 1, "plasmon-pole sums in complex f64, 5 frequencies at a time",
        full: 2560 10240, small: 15 60),
    member!("gpp-nw6", "gpp_nw6", 1, "plasmon-pole sums in complex f64, 6 frequencies at a time",
        full: 3072 12288, small: 18 72),
    member!("gpp-no-fma", "gpp_nw6_no_fma", 1, "the same, 6 frequencies, without fused multiply-adds",
        full: 3072 12288, small: 18 72),
    member!("gpp-stride2", "gpp_nw6", 2, "the same, 6 frequencies, every 2nd element at a time",
        full: 3072 12288, small: 18 72),
    member!("gpp-stride4", "gpp_nw6", 4, "the same, 6 frequencies, every 4th element at a time",
        full: 3072 12288, small: 18 72),
    member!("gpp-stride8", "gpp_nw6", 8, "the same, 6 frequencies, every 8th element at a time",
        full: 3072 12288, small: 18 72),
];
