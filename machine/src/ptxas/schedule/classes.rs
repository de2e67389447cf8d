//! The class of a machine instruction: its mnemonic's, refined by encoding and generation.

use gpucast_simulation::code::Class;

use super::super::isa::{Detail, Guard};
use crate::unit_class::unit_class;

/// The class of an instruction. `sm` is the architecture's number.
pub(super) fn class(mnemonic: &str, detail: Detail, guard: Guard, sm: u32) -> Class {
    let class = unit_class(mnemonic).unwrap_or(Class::Other);
    match class {
        // `@!PT` fills slots only.
        _ if guard == Guard::Never => Class::Other,
        Class::IntegerMultiply if detail == Detail::Wide => Class::WideMultiply,
        Class::Conversion if detail == Detail::Wide => Class::WideConversion,
        // Since Volta saturation of integers has a fixed latency.
        Class::Conversion if mnemonic == "I2I" && sm >= 70 => Class::Integer,
        // maxas has it among the shifts.
        Class::Integer if mnemonic == "ISCADD" && sm < 70 => Class::Shift,
        _ => class,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_and_generations_tell_units_apart() {
        let of = |mnemonic, detail, sm| class(mnemonic, detail, Guard::Always, sm);
        assert_eq!(of("IMAD", Detail::None, 80), Class::IntegerMultiply);
        assert_eq!(of("IMAD", Detail::Wide, 80), Class::WideMultiply);
        assert_eq!(of("F2F", Detail::Wide, 50), Class::WideConversion);
        assert_eq!(of("I2I", Detail::None, 50), Class::Conversion);
        assert_eq!(of("I2I", Detail::None, 75), Class::Integer);
        assert_eq!(of("ISCADD", Detail::None, 50), Class::Shift);
        assert_eq!(class("LDS", Detail::None, Guard::Never, 80), Class::Other);
    }
}
