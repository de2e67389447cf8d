//! Accesses of applications without the rest of their work (Stevens and Klöckner 2020, section
//! 7.1.2): patterns inside loops, or with elements that several threads read.

use super::{dg, finite_diff, matmul};
use crate::Generator;
use crate::language::Kernel;
use crate::variant::{Axis, Unfit, Variant};

/// Matrices of a product.
pub(super) const MATMUL: Generator = Generator {
    name: "matmul_sq_gmem",
    tags: &["matmul", "gmem", "removal"],
    summary: "Accesses of one matrix by a product of square matrices",
    axes: &with::<7>(matmul::GENERATOR.axes, kept(&["a", "b", "c"])),
    make: |variant| without_work(&MATMUL, matmul::GENERATOR.make, variant),
};

/// Arrays of DG differentiation.
pub(super) const DG: Generator = Generator {
    name: "dg_diff_gmem",
    tags: &["dg", "gmem", "removal"],
    summary: "Accesses of one array by DG differentiation",
    axes: &with::<7>(dg::GENERATOR.axes, kept(&["diff_mat", "u", "result"])),
    make: |variant| without_work(&DG, dg::GENERATOR.make, variant),
};

/// Arrays of finite differences.
pub(super) const FINITE_DIFF: Generator = Generator {
    name: "finite_diff_gmem",
    tags: &["stencil", "gmem", "removal"],
    summary: "Accesses of one array by finite differences",
    axes: &with::<4>(finite_diff::GENERATOR.axes, kept(&["u", "result"])),
    make: |variant| without_work(&FINITE_DIFF, finite_diff::GENERATOR.make, variant),
};

const fn kept(arrays: &'static [&'static str]) -> Axis {
    Axis::words("keep", "array whose accesses stay", arrays)
}

/// An application's axes and a further one; they are `N` together.
const fn with<const N: usize>(axes: &[Axis], further: Axis) -> [Axis; N] {
    let mut all = [further; N];
    let mut at = 0;
    while at + 1 < N {
        all[at] = axes[at];
        at += 1;
    }
    all
}

/// The application's kernel, of which the accesses of one array stay.
fn without_work(
    generator: &Generator,
    make: fn(&Variant) -> Result<Kernel, Unfit>,
    variant: &Variant,
) -> Result<Kernel, Unfit> {
    Ok(Kernel {
        name: generator.name.to_owned(),
        summary: generator.summary.to_owned(),
        kept: Some(variant.word("keep")?.to_owned()),
        ..make(variant)?
    })
}
