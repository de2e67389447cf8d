//! The mixbench family: one kernel for every element type and number of compute iterations.
//!
//! Its launch files differ only in those two, so they are written once, here.

use crate::entry::{Entry, Module, module};

const SOURCE: &str = include_str!("../kernels/mixbench/kernel.cu");

const MODULES: &[Module] = &[module!("mixbench", "sm_35"), module!("mixbench", "sm_80")];

/// The launch file of one member. A block of 256 threads reads 256 x 8 x 4 elements.
macro_rules! launch {
    ($type:literal, $iterations:literal, $init:literal, $seed:literal,
     len: $len:literal, blocks: $blocks:literal, $comment:literal) => {
        concat!(
            "# ",
            $comment,
            "\nmodule = \"sm_35.ptx\"\n\n[buffers.data]\ntype = \"",
            $type,
            "\"\nlen = ",
            $len,
            "\ninit = ",
            $init,
            "\n\n[[launch]]\nkernel = \"mixbench_",
            $type,
            "_i",
            $iterations,
            "\"\ngrid = [",
            $blocks,
            ", 1, 1]\nblock = [256, 1, 1]\nargs = [{ ",
            $type,
            " = ",
            $seed,
            " }, \"data\"]\n\n[[expect]] # nothing is written\nbuffer = \"data\"\n",
            "reference = \"mixbench\"\nrtol = 0.0\natol = 0.0\n"
        )
    };
}

macro_rules! member {
    ($type:literal, $init:literal, $seed:literal, $iterations:literal) => {
        Entry {
            name: concat!("mixbench-", $type, "-", $iterations),
            family: "mixbench",
            summary: concat!(
                "reads every ",
                $type,
                " once and makes ",
                $iterations,
                " multiply-adds of it"
            ),
            source: SOURCE,
            modules: MODULES,
            launch: launch!(
                $type, $iterations, $init, $seed, len: 8388608, blocks: 1024,
                "8 Mi elements; the thesis does not state its size."
            ),
            launch_small: launch!(
                $type, $iterations, $init, $seed, len: 16384, blocks: 2,
                "Two blocks, for quick tests."
            ),
            references: &["mixbench"],
            published: None,
        }
    };
}

macro_rules! family {
    ($(($type:literal, $init:literal, $seed:literal))+) => {
        &[$(
            member!($type, $init, $seed, 0),
            member!($type, $init, $seed, 1),
            member!($type, $init, $seed, 2),
            member!($type, $init, $seed, 4),
            member!($type, $init, $seed, 8),
            member!($type, $init, $seed, 16),
            member!($type, $init, $seed, 32),
            member!($type, $init, $seed, 64),
            member!($type, $init, $seed, 128),
        )+]
    };
}

/// Elements stay finite under x * x + 0.1 from this range.
pub(crate) const FAMILY: &[Entry] =
    family!(("f32", "{ uniform = { low = -0.5, high = 0.5, seed = 1 } }", "0.1")(
        "f64",
        "{ uniform = { low = -0.5, high = 0.5, seed = 1 } }",
        "0.1"
    )("s32", "\"iota\"", "3"));
