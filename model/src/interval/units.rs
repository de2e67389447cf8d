//! The units that instructions keep busy.

use gpucast_simulation::code::{Action, Instruction, TensorMemoryAction};
use gpucast_simulation::parameters::{Parameters, Unit, UnitUse};

/// The unit of an instruction; of a product, the tensor core at the rate of its format (AMALI,
/// `II_tensor`).
pub(super) fn unit_of(instruction: &Instruction, parameters: &Parameters) -> UnitUse {
    let mut units = parameters.units[instruction.class as usize];
    if let Action::Multiply { multiply_adds, format, .. } = instruction.action {
        let rate = parameters.tensor.rates[format as usize];
        let of_sub_core = rate / f64::from(parameters.issue.sub_partitions.max(1));
        if of_sub_core > 0.0 {
            units.unit = Some(Unit::Tensor);
            units.interval = f64::from(multiply_adds) / of_sub_core;
        }
    }
    if let Action::TensorMemory(TensorMemoryAction::Transfer { bytes, writes }) = instruction.action
    {
        units.unit = Some(Unit::TensorMemory);
        units.interval = parameters.transfer_clocks(bytes, writes);
    }
    units
}
