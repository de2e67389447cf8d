//! `tcgen05.shift`: within 32 lanes, a lane gets the 32 bytes of the next one. NVIDIA's example
//! `1cta_mma_a_from_tmem.py` compares a GPU's products with exactly this.

use std::ops::Range;

use gpucast_interpreter::{FaultKind, NoObserver, RunError};

use super::{COLUMNS, COMMIT, Images, LANES, SHARED, assert_same, kernel, kernel_of};
use crate::machine::{Random, keep, try_launch_cluster, words};

/// Changes `after` as a shift of `lanes` changes `before`: eight columns from `column` on.
pub(super) fn shift_down(before: &[u32], after: &mut [u32], lanes: Range<usize>, column: usize) {
    for lane in lanes.filter(|lane| lane % 32 != 31) {
        let cells = |lane: usize| lane * COLUMNS + column..lane * COLUMNS + column + 8;
        after[cells(lane)].copy_from_slice(&before[cells(lane + 1)]);
    }
}

#[test]
fn lanes_of_a_quarter_move_by_one() {
    for (quarter, column) in [(0, 0), (1, 17), (2, 504), (3, 256)] {
        let name = format!("shift of quarter {quarter} at {column}");
        let images = Images::random(&mut Random::new(column as u64 + 1));
        let place = (quarter << 21) + column;
        let body = format!("@%p tcgen05.shift.cta_group::1.down [%t + {place}];\n{COMMIT}");
        let text = kernel("", &body);
        keep(&name, &text);
        let (tensor, _) = images.run(&text, 0).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut expected = images.tensor.clone();
        shift_down(&images.tensor, &mut expected, 32 * quarter..32 * quarter + 32, column);
        assert_same(&name, &tensor, &expected);
    }
}

#[test]
fn both_ctas_of_a_pair_move_their_lanes() {
    let random = &mut Random::new(7);
    let images = [Images::random(random), Images::random(random)];
    let body = "@%p tcgen05.shift.cta_group::2.down [%t + 2097160];\n\
        @%p tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [barrier], 3;\n\
        wait:\nmbarrier.try_wait.parity.shared.b64 %ok, [barrier], 0;\n@!%ok bra wait;\n";
    let input = [images[0].bytes(), images[1].bytes()].concat();
    let size = LANES * COLUMNS;
    let text = kernel_of(2, "", body);
    let output = try_launch_cluster(&text, [128, 2], &input, 8 * size, &mut NoObserver).unwrap();
    for (cta, found) in words(&output).chunks_exact(size).enumerate() {
        let mut expected = images[cta].tensor.clone();
        shift_down(&images[cta].tensor, &mut expected, 32..64, 8);
        assert_same(&format!("CTA {cta}"), found, &expected);
    }
}

#[test]
fn a_shift_begins_at_a_quarter_and_stays_in_tensor_memory() {
    let fault = |place: u32| {
        let body = format!("@%p tcgen05.shift.cta_group::1.down [%t + {place}];\n{COMMIT}");
        let images = Images { shared: vec![0; SHARED], tensor: vec![0; LANES * COLUMNS] };
        match images.run(&kernel("", &body), 0) {
            Err(RunError::Fault(fault)) => fault.kind,
            other => panic!("{place}: {:?}", other.map(|_| ())),
        }
    };
    assert!(matches!(fault(16 << 16), FaultKind::BadOperand { value: 16, .. }));
    assert_eq!(fault(505), FaultKind::TensorMemoryBounds { lane: 0, column: 512 });
}

/// 64 rows of A lie in half of the lanes only.
#[test]
fn a_of_64_rows_is_not_shifted() {
    let images = Images::random(&mut Random::new(3));
    let idesc = 1 << 4 | (8 >> 3) << 17 | (64 >> 4) << 24;
    let body = format!(
        "mov.b64 %db, {}; setp.eq.u32 %adds, 1, 0;\n\
         @%p tcgen05.mma.cta_group::1.kind::f16.ashift [%t], [%t + 64], %db, {idesc}, %adds;\n{COMMIT}",
        1_u64 << 46
    );
    match images.run(&kernel(".reg .b64 %db; .reg .pred %adds;", &body), 0) {
        Err(RunError::Fault(fault)) => {
            assert!(matches!(fault.kind, FaultKind::UndefinedOperand { value: 64, .. }));
        }
        other => panic!("{:?}", other.map(|_| ())),
    }
}
