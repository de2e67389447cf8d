//! Products and copies of pairs of CTAs (`.cta_group::2`).

use gpucast_interpreter::NoObserver;

use super::shift::shift_down;
use super::{COLUMNS, Images, LANES, SHARED, assert_same, descriptor, encode, kernel_of};
use crate::machine::{Random, keep, try_launch_cluster, words};
use crate::warpgroup::{Element, Matrix, place};

/// Commits what the first CTA has issued to the mbarriers of both.
const COMMIT: &str = "@%p tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [barrier], 3;\n\
     wait:\nmbarrier.try_wait.parity.shared.b64 %ok, [barrier], 0;\n@!%ok bra wait;\n";

/// A product of `m` rows, of which each CTA has half; so it has of the columns of B.
fn check(m: usize, n: usize, in_tensor: bool, shifts: bool, seed: u64) {
    let random = &mut Random::new(seed);
    let name = format!("pair {m}x{n}, A in tensor memory {in_tensor}, shifted {shifts}");
    let shift_text = if shifts { ".ashift" } else { "" };
    let mut images = [Images::random(random), Images::random(random)];
    let (rows, columns) = (m / 2, n / 2);
    let a = [0; 2].map(|_| Matrix::new(Element::F16, rows, 32, random));
    let b = [0; 2].map(|_| Matrix::new(Element::F16, columns, 32, random));
    let (mut descriptors, layout) = ([0; 2], random.next());
    for (cta, images) in images.iter_mut().enumerate() {
        let mut used = vec![0; SHARED];
        // Both CTAs have the same descriptors, and so the same layouts.
        let random = &mut Random::new(layout);
        let at = (&mut images.shared[..], &mut used[..]);
        descriptors[0] = descriptor(place(&a[cta], rows, false, at, 0, random));
        let at = (&mut images.shared[..], &mut used[..]);
        descriptors[1] = descriptor(place(&b[cta], columns, false, at, 24 << 10, random));
        for row in 0..rows {
            let bytes: Vec<u8> = (0..16).flat_map(|k| a[cta].at(row, k).1.clone()).collect();
            // Where 64 lanes have half of the columns each, both halves have a copy.
            for lane in (row..LANES).step_by(rows) {
                for (column, word) in words(&bytes).into_iter().enumerate() {
                    if in_tensor {
                        *images.cell(lane, 400 + column) = word;
                    }
                }
            }
        }
    }
    let idesc = 1 << 4 | (n as u32 >> 3) << 17 | (m as u32 >> 4) << 24;
    let a_text = if in_tensor { "[%t + 400]" } else { "%da" };
    let body = format!(
        "mov.b64 %da, {}; mov.b64 %db, {}; mov.b32 %idesc, {idesc}; setp.eq.u32 %adds, 1, 0;\n\
         @%p tcgen05.mma.cta_group::2.kind::f16{shift_text} [%t], {a_text}, %db, %idesc, %adds;\n{COMMIT}",
        descriptors[0], descriptors[1],
    );
    let text = kernel_of(2, ".reg .b64 %da, %db; .reg .b32 %idesc; .reg .pred %adds;", &body);
    keep(&name, &text);
    let input = [images[0].bytes(), images[1].bytes()].concat();
    let size = LANES * COLUMNS;
    let output = try_launch_cluster(&text, [128, 2], &input, 8 * size, &mut NoObserver);
    let output = words(&output.unwrap_or_else(|error| panic!("{name}: {error}")));
    for (cta, images) in images.iter().enumerate() {
        let mut expected = images.tensor.clone();
        for row in 0..rows {
            for column in 0..n {
                let of_b = &b[column / columns];
                let sum =
                    (0..16).map(|k| a[cta].at(row, k).0 * of_b.at(column % columns, k).0).sum();
                let (lane, column) = match m {
                    256 => (row, column),
                    _ => (row + column / columns * 64, column % columns),
                };
                expected[lane * COLUMNS + column] = encode(1, sum);
            }
        }
        if shifts {
            shift_down(&images.tensor, &mut expected, 0..LANES, 400);
        }
        assert_same(&format!("{name}, CTA {cta}"), &output[cta * size..][..size], &expected);
    }
}

#[test]
fn products_of_pairs_are_those_of_integers() {
    for (seed, (m, n)) in [(256, 32), (256, 256), (128, 32), (128, 160)].into_iter().enumerate() {
        for (in_tensor, shifts) in [(false, false), (true, false), (true, true)] {
            check(m, n, in_tensor, shifts, seed as u64 + 1);
        }
    }
}
