//! The rows, one file for each chapter of the manual.

mod async_copy;
mod atomic;
mod compare;
mod control;
mod convert;
mod fabric;
mod float;
mod half;
mod integer;
mod logic;
mod matrix;
mod memory;
mod misc;
mod movement;
mod sync;
mod tensor_memory;
mod texture;
mod video;
mod warp;
mod warpgroup;

use super::InstructionClass;

/// Rows that share a class and a section of the manual.
pub(super) struct Group {
    pub(super) class: InstructionClass,
    pub(super) section: &'static str,
    pub(super) rows: &'static [&'static str],
}

const fn group(
    class: InstructionClass,
    section: &'static str,
    rows: &'static [&'static str],
) -> Group {
    Group { class, section, rows }
}

/// Every group of rows.
pub(super) fn groups() -> impl Iterator<Item = &'static Group> {
    [
        integer::GROUPS,
        float::GROUPS,
        half::GROUPS,
        compare::GROUPS,
        logic::GROUPS,
        movement::GROUPS,
        convert::GROUPS,
        memory::GROUPS,
        atomic::GROUPS,
        control::GROUPS,
        sync::GROUPS,
        warp::GROUPS,
        async_copy::GROUPS,
        fabric::GROUPS,
        matrix::GROUPS,
        warpgroup::GROUPS,
        tensor_memory::GROUPS,
        texture::GROUPS,
        video::GROUPS,
        misc::GROUPS,
    ]
    .into_iter()
    .flatten()
}
