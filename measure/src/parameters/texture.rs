//! Fetches of texels.

use super::{CLOCKS, Parameter};
use crate::bench::{How, Sizes};
use crate::kernels;

pub(super) const ALL: &[Parameter] = &[Parameter::field(
    "texture_latency",
    CLOCKS,
    "texture_pattern of one warp with one chain",
    |bench| {
        let fetches = Sizes { smaller: 128, larger: 384 };
        bench.clocks(fetches, How::default(), |m| {
            let tags = format!("chains:1 texels:1024 lsize_0:32 ngroups:1 m:{m}");
            kernels::of_tags(&format!("texture_pattern {tags}"))
        })
    },
)];
