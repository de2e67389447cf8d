//! The kinds of integer instructions: the rows of the vendor's throughput table.
//!
//! Profilers count all integer instructions together, although some take five times as long as
//! others (Konstantinidis 2017, table 5.18 and section 7.2.1, which asks for counters that tell
//! them apart). The kinds are the rows of the table "Throughput of Native Arithmetic Instructions"
//! of the CUDA C++ Programming Guide. Those of PTX instructions stand with the other facts of a
//! mnemonic in `opcode_facts`; those of machine instructions stand here.

use gpucast_ptx_frontend::isa::IntegerRow;

/// A kind of integer instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntegerKind {
    /// Additions and subtractions, also of a shifted operand (`LEA`, `ISCADD`).
    Add,
    /// Multiplications and multiply-adds, sums of products (`dp4a`) among them.
    Multiply,
    /// Shifts and funnel shifts.
    Shift,
    /// Bitwise logic.
    Logic,
    /// Comparisons, minima and maxima.
    Compare,
    /// Everything else: quotients, bit fields, counts of bits, absolute differences, SIMD video
    /// instructions.
    Other,
}

impl IntegerKind {
    /// The kind of a machine instruction whose class is that of integers, by its mnemonic without
    /// modifiers. Instructions of the uniform datapath are of the kind of their counterparts.
    #[must_use]
    pub fn of_mnemonic(mnemonic: &str) -> Self {
        match mnemonic {
            "IADD" | "IADD32I" | "IADD3" | "ISCADD" | "ISCADD32I" | "LEA" | "VADD" | "VIADD"
            | "UIADD3" | "ULEA" => Self::Add,
            "IMAD" | "IMAD32I" | "IMADSP" | "IMUL" | "IMUL32I" | "XMAD" | "IDP" | "VMAD"
            | "UIMAD" | "CLMAD" => Self::Multiply,
            "SHF" | "SHL" | "SHR" | "VSHL" | "VSHR" | "USHF" => Self::Shift,
            "LOP" | "LOP32I" | "LOP3" | "ULOP3" => Self::Logic,
            "ISET" | "ISETP" | "IMNMX" | "ICMP" | "VIMNMX" | "VMNMX" | "VSET" | "VSETP"
            | "UISETP" | "UVIMNMX" => Self::Compare,
            _ => Self::Other,
        }
    }
}

impl From<IntegerRow> for IntegerKind {
    fn from(row: IntegerRow) -> Self {
        match row {
            IntegerRow::Add => Self::Add,
            IntegerRow::Multiply => Self::Multiply,
            IntegerRow::Compare => Self::Compare,
            IntegerRow::Shift => Self::Shift,
            IntegerRow::Logic => Self::Logic,
            IntegerRow::Divide
            | IntegerRow::BitField
            | IntegerRow::BitCount
            | IntegerRow::Absolute
            | IntegerRow::Simd => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use gpucast_ptx_frontend::isa::{Opcode, opcode_facts};

    use super::*;

    /// Rows of the vendor's table, by instructions that its footnotes and the assembler's names tie
    /// to them.
    #[test]
    fn both_levels_name_the_same_row_of_the_table() {
        use IntegerKind as K;
        for (opcode, mnemonic, kind) in [
            (Opcode::Add, "IADD3", K::Add),
            (Opcode::Sub, "IADD", K::Add),
            (Opcode::Mad, "IMAD", K::Multiply),
            (Opcode::Mul, "XMAD", K::Multiply),
            (Opcode::Shr, "SHF", K::Shift),
            (Opcode::Xor, "LOP3", K::Logic),
            (Opcode::Setp, "ISETP", K::Compare),
            (Opcode::Max, "IMNMX", K::Compare),
            (Opcode::Popc, "POPC", K::Other),
            (Opcode::Bfe, "BFE", K::Other),
            (Opcode::Vadd, "VADD", K::Add),
            (Opcode::Vmad, "VMAD", K::Multiply),
            (Opcode::Vshl, "VSHL", K::Shift),
            (Opcode::Vset, "VSET", K::Compare),
            (Opcode::Vabsdiff4, "VABSDIFF4", K::Other),
            (Opcode::Clmad, "CLMAD", K::Multiply),
        ] {
            let row = opcode_facts(opcode).integer.unwrap();
            assert_eq!(IntegerKind::from(row), kind, "{opcode}");
            assert_eq!(IntegerKind::of_mnemonic(mnemonic), kind, "{mnemonic}");
        }
    }
}
