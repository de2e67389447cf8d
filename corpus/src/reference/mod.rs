//! The results that kernels of the corpus should compute, stated again in plain Rust.
//!
//! A reference is an independent definition of a kernel's result, not a translation of its code:
//! the matrix product sums in f64, the stencils walk the grid by point coordinates rather than by
//! threads and tiles. It takes the buffers as they were *before* the first launch and returns those
//! that the launch changes. Buffers are found by their position among the kernel's arguments, so a
//! launch file may name them as it likes.
//!
//! A launch file asks for one with `reference = "sgemm"` in an `[[expect]]` table.

mod attention;
mod block_sums;
mod cfd_time_step;
mod coloured_grid;
mod copy;
mod dg_differentiation;
mod elements;
mod error;
mod finite_differences;
mod gemm;
mod gpp;
mod gsrb;
mod histogram;
mod hotspot3d;
mod inputs;
mod kmeans;
mod leukocyte_dilate;
mod lmsor;
mod merge_sort_first;
mod mixbench;
mod n_body;
mod nearest_neighbour;
mod padded_box;
mod product;
mod product_transposed;
mod reduction;
mod rows;
mod sgemm;
mod shmem_swap;
mod sor;
mod spmv;
mod srad_1;
mod stencil_7pt;
mod stream_triad;
#[cfg(test)]
mod tests;
mod transpose;
mod tridiagonal;
mod values;
mod vector_add;

use std::collections::BTreeMap;

pub use error::ReferenceError;
pub use inputs::{Argument, Inputs};
pub use values::{ElementType, Scalar, Values};

/// The buffers that a launch changes, by name.
pub type Outputs = BTreeMap<String, Values>;

/// A kernel's result, computed on the CPU.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// The name in launch files.
    pub name: &'static str,
    /// Description of the computation and its exactness, in one line.
    pub about: &'static str,
    /// Computes the buffers that the launch changes from those before it.
    ///
    /// # Errors
    ///
    /// Returns an error if arguments or buffers are missing, of another type or too short. It also
    /// does so if the launch does not cover the data. Never panics, whatever the inputs.
    pub run: fn(&Inputs<'_>) -> Result<Outputs, ReferenceError>,
}

impl Reference {
    /// Launches that it describes together, with the arguments of one behind those of the other.
    #[must_use]
    pub fn launches(&self) -> usize {
        if self.name == "attention-decode" { 2 } else { 1 }
    }
}

/// All references.
pub const REFERENCES: &[Reference] = &[
    Reference { name: "sgemm", about: "C = A B, summed in f64 and rounded once", run: sgemm::run },
    Reference {
        name: "sor-red-black",
        about: "red passes of SOR for the Laplace equation, in f64",
        run: sor::run,
    },
    Reference {
        name: "lmsor",
        about: "red passes of LMSOR with coefficients of eq. 5.11, in f64",
        run: lmsor::run,
    },
    Reference {
        name: "mixbench",
        about: "the data, unchanged unless a sum of products is -1",
        run: mixbench::run,
    },
    Reference {
        name: "shmem-swap",
        about: "sums of six slots; whole numbers, exact",
        run: shmem_swap::run,
    },
    Reference { name: "vector-add", about: "c = a + b, exact", run: vector_add::run },
    Reference {
        name: "reduction",
        about: "the sum, modulo 2^32 for u32, in f64 rounded once for f32",
        run: reduction::run,
    },
    Reference { name: "histogram", about: "counts in 256 bins, exact", run: histogram::run },
    Reference { name: "transpose", about: "the transposed matrix, exact", run: transpose::run },
    Reference {
        name: "matmul-by-columns",
        about: "C = A B stored by columns, summed in f64 and rounded once",
        run: product::run_by_columns,
    },
    Reference {
        name: "tridiagonal",
        about: "the last unknown of each system, by elimination in f64",
        run: tridiagonal::run,
    },
    Reference {
        name: "spmv",
        about: "y = A x for a sparse matrix, summed in f64 and rounded once",
        run: spmv::run,
    },
    Reference {
        name: "dg-differentiation",
        about: "each matrix times each element's values, summed in f64 and rounded once",
        run: dg_differentiation::run,
    },
    Reference {
        name: "finite-differences",
        about: "a five-point stencil in f64, rounded once",
        run: finite_differences::run,
    },
    Reference { name: "stencil-7pt", about: "a 7-point stencil in f64", run: stencil_7pt::run },
    Reference { name: "gpp", about: "sums of complex quotients in f64", run: gpp::run },
    Reference {
        name: "gsrb",
        about: "even points relaxed, odd points copied, in f64",
        run: gsrb::run,
    },
    Reference { name: "copy", about: "the other buffer, exact", run: copy::run },
    Reference {
        name: "stream-triad",
        about: "a = b + scalar c in f64, exact",
        run: stream_triad::run,
    },
    Reference {
        name: "gemm",
        about: "C = alpha A B + beta C, summed in f64 and rounded once",
        run: gemm::run,
    },
    Reference {
        name: "block-sums",
        about: "the sum of each block's elements, in f64 and rounded once",
        run: block_sums::run,
    },
    Reference { name: "n-body", about: "one step under gravity, in f64", run: n_body::run },
    Reference {
        name: "hotspot3d",
        about: "one step of heat conduction, in f64 and rounded once",
        run: hotspot3d::run,
    },
    Reference {
        name: "kmeans-invert-mapping",
        about: "the transposed features, exact",
        run: kmeans::invert_mapping,
    },
    Reference {
        name: "kmeans-point",
        about: "the nearest centre of each point, distances in f64",
        run: kmeans::point,
    },
    Reference {
        name: "cfd-time-step",
        about: "variables advanced by their fluxes, in f64 and rounded once",
        run: cfd_time_step::run,
    },
    Reference {
        name: "srad-1",
        about: "differences to neighbours and coefficients of diffusion, in f64",
        run: srad_1::run,
    },
    Reference {
        name: "merge-sort-first",
        about: "every four numbers sorted, exact",
        run: merge_sort_first::run,
    },
    Reference {
        name: "nearest-neighbour",
        about: "distances from a place, in f64 and rounded once",
        run: nearest_neighbour::run,
    },
    Reference {
        name: "leukocyte-dilate",
        about: "the greatest value that a disc covers, exact",
        run: leukocyte_dilate::run,
    },
    Reference {
        name: "product-transposed",
        about: "C = A B^T in bf16, summed in f64 and rounded once",
        run: product_transposed::run,
    },
    Reference {
        name: "attention",
        about: "softmax(Q K^T / sqrt(D)) V in bf16, in f64 and rounded once",
        run: attention::run,
    },
    Reference {
        name: "attention-decode",
        about: "the same for one query a head, four heads on the same keys",
        run: attention::run_decode,
    },
    Reference {
        name: "softmax",
        about: "e^x over the sum of its row, in f64 and rounded once",
        run: rows::softmax,
    },
    Reference {
        name: "layer-norm",
        about: "rows of mean 0 and variance 1, weighted, in f64 and rounded once",
        run: rows::layer_norm,
    },
    Reference {
        name: "rms-norm",
        about: "sums with a residual over their root mean square, in f64",
        run: rows::rms_norm,
    },
    Reference {
        name: "top-k",
        about: "the eight greatest numbers of a row and their columns, exact",
        run: rows::top_k,
    },
    Reference {
        name: "fp8-quantisation",
        about: "rows over their scale as e4m3, rounded to nearest",
        run: rows::fp8_quantisation,
    },
    Reference {
        name: "rotary",
        about: "pairs of elements turned by their position, in f64 and rounded once",
        run: elements::rotary,
    },
    Reference {
        name: "silu-and-multiply",
        about: "a / (1 + e^-a) b, in f64 and rounded once",
        run: elements::silu_and_multiply,
    },
    Reference {
        name: "causal-convolution",
        about: "four weights a channel and silu, in f64 and rounded once",
        run: elements::causal_convolution,
    },
];

/// The reference of this name.
pub fn reference(name: &str) -> Option<&'static Reference> {
    REFERENCES.iter().find(|reference| reference.name == name)
}
