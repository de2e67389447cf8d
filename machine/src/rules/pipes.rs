//! Chooses the pipe of each move.

use smallvec::{SmallVec, smallvec};

use super::family::{Family, Multiplier};
use super::select::Selected;

/// Since Volta the multiplier moves words, too (`IMAD.MOV.U32`), which is an integer instruction
/// for profilers. `ptxas` (12.9, sm_70 to sm_90) takes it for three of five moves, so that both
/// pipes are busy.
#[derive(Debug)]
pub(super) struct Pipes {
    has_two: bool,
    /// The number of moves so far.
    moves: usize,
}

/// Of five moves in a row, true for those of the multiplier.
const MULTIPLIER_MOVES: [bool; 5] = [true, false, true, true, false];

impl Pipes {
    pub(super) fn new(family: &Family) -> Self {
        Self { has_two: family.multiplier == Multiplier::ImadWide, moves: 0 }
    }

    /// Divides moves between the pipes; other instructions stay as they are.
    pub(super) fn distribute(&mut self, selected: Selected) -> SmallVec<[Selected; 2]> {
        if !self.has_two || selected.mnemonic != "MOV" {
            return smallvec![selected];
        }
        let mut multiplier = 0;
        for _ in 0..selected.count {
            multiplier += u32::from(MULTIPLIER_MOVES[self.moves % MULTIPLIER_MOVES.len()]);
            self.moves += 1;
        }
        let moves =
            [Selected::new("IMAD", multiplier), Selected::new("MOV", selected.count - multiplier)];
        moves.into_iter().filter(|moves| moves.count > 0).collect()
    }
}
