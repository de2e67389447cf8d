//! What an observer hears of a product: its operations, and each byte of its operands in shared
//! memory once.

use gpucast_interpreter::{Access, AccessKind, Observer, Program, Recorder, TensorUse};
use gpucast_ptx_frontend::ScalarType;
use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::types::StateSpace;

use super::{COMMIT, Images, LANES, SHARED, descriptor, kernel};
use crate::machine::{Random, try_launch};
use crate::warpgroup::{Element, Matrix, place};

/// The products of a launch, and how often they read each byte of shared memory.
#[derive(Default)]
struct Heard {
    product: Option<u32>,
    bytes: Vec<u32>,
    requests: u32,
    products: Vec<TensorUse>,
}

impl Recorder for Heard {
    fn block(&mut self, _warp: u32, _block: u32, _mask: u32) {}

    fn guarded_lanes(&mut self, _lanes: &[u64]) {}

    fn branch(&mut self, _instruction: u32, _active: u32, _taken: u32) {}

    fn access(&mut self, access: &Access<'_>) {
        if Some(access.instruction) != self.product {
            return;
        }
        assert_eq!((access.space, access.kind), (StateSpace::Shared, AccessKind::Load));
        self.requests += u32::from(!access.continues);
        for lane in (0..32).filter(|lane| access.mask >> lane & 1 != 0) {
            let at = access.addresses[lane] as usize;
            self.bytes[at..at + access.bytes_per_lane as usize].iter_mut().for_each(|n| *n += 1);
        }
    }

    fn tensor(&mut self, product: &TensorUse) {
        self.products.push(*product);
    }
}

impl Observer for Heard {
    type Recorder = Self;

    fn fresh(&self) -> Self {
        Self::default()
    }

    fn recorder(&self, program: &Program) -> Self {
        let is_product = |opcode: Opcode| opcode.text().starts_with("tcgen05.mma");
        let instructions = program.instructions().iter();
        let product =
            { instructions }.position(|instruction| is_product(instruction.instruction.opcode));
        Self { product: product.map(|at| at as u32), bytes: vec![0; SHARED], ..Self::default() }
    }

    fn wave(&self) -> usize {
        1
    }

    fn collect(&mut self, _first_cta: u64, recorders: &mut [&mut Self]) {
        for recorder in recorders {
            std::mem::swap(self, recorder);
        }
    }
}

#[test]
fn an_observer_hears_of_operations_and_of_each_byte_once() {
    for (seed, (element, kind, code, d, ty)) in [
        (Element::F16, "f16", 0, 1, ScalarType::F16),
        (Element::Bf16, "f16", 1, 1, ScalarType::Bf16),
        (Element::Tf32, "tf32", 2, 1, ScalarType::Tf32),
        (Element::E5m2, "f8f6f4", 1, 1, ScalarType::E5m2),
        (Element::S8, "i8", 1, 2, ScalarType::S8),
    ]
    .into_iter()
    .enumerate()
    {
        for transposed in [false, true] {
            let (m, n) = (LANES, 96);
            let random = &mut Random::new(seed as u64 + 1);
            let mut images = Images::random(random);
            let [a, b] = [m, n].map(|rows| Matrix::new(element, rows, 32, random));
            let mut used = vec![0; SHARED];
            let at = (&mut images.shared[..], &mut used[..]);
            let of_a = descriptor(place(&a, m, transposed, at, 0, random));
            let at = (&mut images.shared[..], &mut used[..]);
            let of_b = descriptor(place(&b, n, transposed, at, 24 << 10, random));
            let transposes = if transposed { 3 << 15 } else { 0 };
            let idesc =
                transposes | d << 4 | code << 7 | code << 10 | (n >> 3) << 17 | (m >> 4) << 24;
            let body = format!(
                "mov.b64 %da, {of_a}; mov.b64 %db, {of_b}; mov.b32 %idesc, {idesc}; setp.eq.u32 %adds, 1, 0;\n\
                 @%p tcgen05.mma.cta_group::1.kind::{kind} [%t], %da, %db, %idesc, %adds;\n{COMMIT}"
            );
            let text = kernel(".reg .b64 %da, %db; .reg .b32 %idesc; .reg .pred %adds;", &body);
            let mut heard = Heard::default();
            let bytes = 4 * images.tensor.len();
            try_launch(&text, 128, &images.bytes(), bytes, &mut heard).unwrap();
            let operations = (2 * m * n * a.depth()) as u64;
            let products: Vec<_> =
                heard.products.iter().map(|product| (product.ty, product.operations)).collect();
            assert_eq!(products, [(ty, operations)], "{kind}");
            assert_eq!(heard.requests, 1, "{kind}");
            assert!(heard.bytes == used, "{kind}, transposed {transposed}");
        }
    }
}
