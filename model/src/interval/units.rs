//! The units that instructions keep busy.

use gpucast_simulation::code::{Action, Instruction, TensorMemoryAction};
use gpucast_simulation::parameters::{Parameters, Unit, UnitUse};

/// The unit of an instruction; of a product, the tensor core at the rate of its format (AMALI,
/// `II_tensor`).
pub(super) fn unit_of(instruction: &Instruction, parameters: &Parameters) -> UnitUse {
    let mut units = parameters.units[instruction.class as usize];
    if let Action::Multiply { multiply_adds, format, is_asynchronous } = instruction.action {
        let sub_cores = parameters.issue.sub_partitions;
        let clocks = parameters.tensor.clocks(multiply_adds, format, is_asynchronous, sub_cores);
        if let Some(clocks) = clocks {
            (units.unit, units.interval) = (Some(Unit::Tensor), clocks);
        }
    }
    if let Action::TensorMemory(TensorMemoryAction::Transfer { bytes, writes }) = instruction.action
    {
        units.unit = Some(Unit::TensorMemory);
        units.interval = parameters.transfer_clocks(bytes, writes);
    }
    units
}
