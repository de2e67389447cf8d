//! A kernel with what a launch of it needs.

use gpucast_ptx_frontend::container::{Suffix, Target};

use super::{Array, Statement, Variable};
use crate::variant::Unfit;

/// A kernel, its buffers and its launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// The entry point.
    pub name: String,
    /// What it does, in one sentence.
    pub summary: String,
    /// The parameters in order.
    pub parameters: Vec<Parameter>,
    /// Shared and constant arrays of the module.
    pub arrays: Vec<Array>,
    /// The variables.
    pub variables: Vec<VariableName>,
    /// The steps of a thread.
    pub body: Vec<Statement>,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster, along the first axis; 1 without clusters.
    pub cluster: u32,
    /// The buffer whose accesses alone stay, where work is removed from the PTX.
    pub kept: Option<String>,
    /// The oldest target that has its instructions, as the number behind `sm_`.
    pub oldest_target: u32,
    /// The newest target that has its instructions, if they are features of single architectures:
    /// its module then has the suffix `a`. `None` if later targets have them, too.
    pub newest_target: Option<u32>,
    /// The oldest version of the PTX ISA that has its instructions: major and minor.
    pub oldest_isa: [u8; 2],
}

/// A parameter with its value in the launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter {
    /// A pointer to a buffer of the launch.
    Buffer(Array),
    /// A number that the kernel reads as a variable.
    Scalar {
        /// The variable.
        variable: Variable,
        /// The value in the launch.
        value: i64,
    },
    /// The handle of a texture of a buffer, which the kernel reads as a variable of type `u64`.
    Texture {
        /// The variable.
        variable: Variable,
        /// The buffer, each of whose elements is a texel.
        texels: Array,
    },
}

/// The name of a variable, and whether it is assigned again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableName {
    /// The name; elements of a vector are `name.x`, ….
    pub name: String,
    /// True if it gets a second value.
    pub changes: bool,
}

impl Kernel {
    /// Checks that a target has the kernel's instructions.
    ///
    /// # Errors
    ///
    /// An older target, or one behind those whose features the kernel uses.
    pub fn check_target(&self, target: Target) -> Result<(), Unfit> {
        let oldest = self.oldest_target;
        match self.newest_target {
            _ if target.sm < oldest => {
                Err(Unfit::new(format!("it needs sm_{oldest}, and the target is {target}")))
            }
            Some(newest) if newest < target.sm => Err(Unfit::new(format!(
                "it uses features that ended with sm_{newest}, and the target is {target}"
            ))),
            _ => Ok(()),
        }
    }

    /// The target of its module on an architecture: features of one architecture need the suffix.
    #[must_use]
    pub fn target_of(&self, target: Target) -> Target {
        match (self.newest_target, target.suffix) {
            (Some(_), None) => Target { suffix: Some(Suffix::Accelerated), ..target },
            _ => target,
        }
    }

    /// The name of a variable.
    #[must_use]
    pub fn name_of(&self, variable: Variable) -> &str {
        self.variables.get(variable.number).map_or("_", |variable| &variable.name)
    }

    /// Returns true for a variable that gets a second value.
    #[must_use]
    pub fn changes(&self, variable: Variable) -> bool {
        self.variables.get(variable.number).is_some_and(|variable| variable.changes)
    }

    /// The buffers of the launch.
    pub fn buffers(&self) -> impl Iterator<Item = &Array> {
        self.parameters.iter().filter_map(|parameter| match parameter {
            Parameter::Buffer(array) | Parameter::Texture { texels: array, .. } => Some(array),
            Parameter::Scalar { .. } => None,
        })
    }
}
