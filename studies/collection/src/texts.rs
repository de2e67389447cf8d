//! The texts of a kernel: PTX, launch file and CUDA.

use std::collections::BTreeMap;

use crate::language::Kernel;
use crate::removal::{self, Fate, Wanted};
use crate::variant::Unfit;
use crate::{Target, cuda, launch, ptx};

/// The texts of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texts {
    /// The module.
    pub ptx: String,
    /// The launch file, in TOML.
    pub launch: String,
    /// The source; none where work is removed from the PTX.
    pub cuda: Option<String>,
}

impl Texts {
    /// The texts of a kernel for a target. The launch file names its module `module`.
    ///
    /// # Errors
    ///
    /// Work that cannot be removed from the kernel.
    pub fn of(kernel: &Kernel, target: Target, module: &str) -> Result<Self, Unfit> {
        let ptx = ptx::module(kernel, target);
        let Some(kept) = &kernel.kept else {
            let launch = launch::file(kernel, module, None);
            return Ok(Self { ptx, launch, cuda: Some(cuda::source(kernel)) });
        };
        let named = BTreeMap::from([(ptx::parameter_name(kept), Fate::Keep)]);
        let wanted = Wanted { named, others: Fate::Remove };
        let stripped = removal::strip(&ptx, &kernel.name, &wanted)
            .map_err(|error| Unfit::new(error.to_string()))?;
        let launch = launch::file(kernel, module, stripped.destination.as_ref());
        Ok(Self { ptx: stripped.text, launch, cuda: None })
    }
}
