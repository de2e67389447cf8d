//! `wmma.mma`, `mma` and `mma.sp`: fragments gathered into dense matrices, products, and back.

use std::cell::Cell;

use super::super::lanes::{FULL_MASK, Frame};
use super::OperandFault;
use crate::fault::FaultKind;
use crate::program::matrix_op::{Accumulator, Arithmetic, Fragment, Multiply, Scale, Sparse};
use crate::semantics::matrix::{element, product, scale};

/// Stored elements of the largest A: `mma.m16n8k64`, and `mma.sp.m16n8k128`.
const LARGEST_A: usize = 16 * 64;
/// Elements of the largest B: `mma.sp.m16n8k128`.
const LARGEST_B: usize = 128 * 8;
/// Elements of the largest C and D: `wmma`, and `mma.m8n8k4`.
const LARGEST_D: usize = 256;

/// Dense matrices, row-major.
struct Dense<T> {
    a: [T; LARGEST_A],
    b: [T; LARGEST_B],
    d: [T; LARGEST_D],
    /// The column of each stored element of a sparse A.
    columns: [u16; LARGEST_A],
    /// An operand's values on their way.
    values: [T; 256],
}

impl<T: Copy + Default> Dense<T> {
    fn new() -> Box<Self> {
        let zero = T::default();
        Box::new(Self {
            a: [zero; LARGEST_A],
            b: [zero; LARGEST_B],
            d: [zero; LARGEST_D],
            columns: [0; LARGEST_A],
            values: [zero; 256],
        })
    }
}

thread_local! {
    // Clearing them for each instruction would cost as much as the product.
    static FLOATS: Cell<Option<Box<Dense<f64>>>> = const { Cell::new(None) };
    static INTEGERS: Cell<Option<Box<Dense<i32>>>> = const { Cell::new(None) };
}

fn undefined(lane: u32, what: &'static str, value: u32) -> OperandFault {
    OperandFault { lane, kind: FaultKind::UndefinedOperand { what, value: u64::from(value) } }
}

/// Executes a matrix multiplication for a full warp.
#[inline(always)]
pub(crate) fn multiply(frame: &Frame, op: &Multiply) -> Result<(), OperandFault> {
    match op.arithmetic {
        Arithmetic::Float { c, d, saturate } => {
            let mut dense = FLOATS.take().unwrap_or_else(Dense::new);
            let result = float(frame, op, (c, d), saturate, &mut dense);
            FLOATS.set(Some(dense));
            result
        }
        Arithmetic::Double { mode } => {
            let mut dense = FLOATS.take().unwrap_or_else(Dense::new);
            let Dense { a, b, d, .. } = &mut *dense;
            gather_f64(frame, &op.a, a);
            gather_f64(frame, &op.b, b);
            gather_f64(frame, &op.c, d);
            product::double(op.shape, mode, used_a(op, a), used_b(op, b), used_d(op, d));
            scatter_f64(frame, &op.d, d);
            FLOATS.set(Some(dense));
            Ok(())
        }
        Arithmetic::Integer { saturate } => integer(frame, op, None, saturate),
        Arithmetic::Bits { operation } => integer(frame, op, Some(operation), false),
    }
}

fn used_a<'a, T>(op: &Multiply, a: &'a [T; LARGEST_A]) -> &'a [T] {
    &a[..stored_a(op)]
}

/// Elements of A that are stored.
fn stored_a(op: &Multiply) -> usize {
    (op.products * op.shape.m * stored_columns(op)) as usize
}

/// Columns of A that are stored: half of them if it is sparse.
fn stored_columns(op: &Multiply) -> u32 {
    if op.sparse.is_some() { op.shape.k / 2 } else { op.shape.k }
}

fn used_b<'a, T>(op: &Multiply, b: &'a [T; LARGEST_B]) -> &'a [T] {
    &b[..(op.products * op.shape.k * op.shape.n) as usize]
}

fn used_d<'a, T>(op: &Multiply, d: &'a mut [T; LARGEST_D]) -> &'a mut [T] {
    &mut d[..(op.products * op.shape.m * op.shape.n) as usize]
}

#[inline(always)]
fn float(
    frame: &Frame,
    op: &Multiply,
    accumulators: (Accumulator, Accumulator),
    saturate: bool,
    dense: &mut Dense<f64>,
) -> Result<(), OperandFault> {
    let Dense { a, b, d, columns, values } = dense;
    gather(frame, &op.a, a, values, Floats(op.a_format));
    if let Some(sparse) = &op.sparse {
        find_columns(frame, sparse, stored_columns(op), &mut columns[..stored_a(op)])?;
    }
    gather(frame, &op.b, b, values, Floats(op.b_format));
    if let Some([scale_a, scale_b]) = &op.scales {
        let columns = op.sparse.is_some().then_some(&*columns);
        apply_scales(frame, op, (scale_a, scale_b), a, columns, b)?;
    }
    match accumulators.0 {
        Accumulator::F16 => gather(frame, &op.c, d, values, Floats(element::Format::F16)),
        Accumulator::F32 => gather(frame, &op.c, d, values, Singles),
    }
    let size = (op.shape.m * op.shape.k, op.shape.k * op.shape.n, op.shape.m * op.shape.n);
    if op.sparse.is_some() {
        product::sparse_float(op.shape, used_a(op, a), columns, b, used_d(op, d));
    } else {
        let a = used_a(op, a).chunks_exact(size.0 as usize);
        let b = used_b(op, b).chunks_exact(size.1 as usize);
        let products = used_d(op, d).chunks_exact_mut(size.2 as usize);
        for ((a, b), d) in a.zip(b).zip(products) {
            product::float(op.shape, a, b, d);
        }
    }
    match accumulators.1 {
        Accumulator::F16 => scatter(frame, &op.d, d, values, RoundedHalves { saturate }),
        Accumulator::F32 => scatter(frame, &op.d, d, values, RoundedSingles { saturate }),
    }
    Ok(())
}

#[inline(always)]
fn integer(
    frame: &Frame,
    op: &Multiply,
    bits: Option<product::BitOperation>,
    saturate: bool,
) -> Result<(), OperandFault> {
    let mut dense = INTEGERS.take().unwrap_or_else(Dense::new);
    let Dense { a, b, d, columns, values } = &mut *dense;
    gather(frame, &op.a, a, values, Integers(op.a_format));
    gather(frame, &op.b, b, values, Integers(op.b_format));
    let sums = used_d(op, d);
    sums.fill(0);
    match (bits, &op.sparse) {
        (Some(operation), _) => {
            product::bits(op.shape, operation, used_a(op, a), used_b(op, b), sums);
        }
        (None, None) => product::integer(op.shape, used_a(op, a), used_b(op, b), sums),
        (None, Some(sparse)) => {
            let columns = &mut columns[..stored_a(op)];
            if let Err(fault) = find_columns(frame, sparse, stored_columns(op), columns) {
                INTEGERS.set(Some(dense));
                return Err(fault);
            }
            product::sparse_integer(op.shape, used_a(op, a), columns, b, sums);
        }
    }
    // C's elements lie where D's do, so they need no matrix.
    let registers = op.c.rows.iter().zip(&op.d.rows).zip(op.d.places.chunks_exact(32));
    for ((&c, &result), places) in registers {
        let mut register = frame.lanes::<u32>(c);
        for (word, &place) in register.iter_mut().zip(places) {
            let sum = d[usize::from(place) % LARGEST_D];
            *word = product::add_integer(sum, *word as i32, saturate).cast_unsigned();
        }
        frame.set_lanes::<u32>(result, FULL_MASK, register);
    }
    INTEGERS.set(Some(dense));
    Ok(())
}

/// How registers become values. These are no closures: the compiler inlines closures as it likes,
/// and what is not inlined into the functions of a [level](super::super::level) is compiled for the
/// instructions that every CPU has.
trait Decode<T> {
    /// The values of a register of each lane.
    fn decode(&self, register: &[u32; 32], values: &mut [T; 256]);
}

struct Floats(element::Format);
struct Singles;
struct Integers(element::Format);

impl Decode<f64> for Floats {
    #[inline(always)]
    fn decode(&self, register: &[u32; 32], values: &mut [f64; 256]) {
        element::decode_float(self.0, register, values);
    }
}

impl Decode<f64> for Singles {
    #[inline(always)]
    fn decode(&self, register: &[u32; 32], values: &mut [f64; 256]) {
        for (value, &word) in values.iter_mut().zip(register) {
            *value = f64::from(f32::from_bits(word));
        }
    }
}

impl Decode<i32> for Integers {
    #[inline(always)]
    fn decode(&self, register: &[u32; 32], values: &mut [i32; 256]) {
        element::decode_integer(self.0, register, values);
    }
}

/// How `E` sums become a register, as [`Decode`].
trait Encode<const E: usize> {
    fn encode(&self, sums: [f64; E]) -> u32;
}

struct RoundedHalves {
    saturate: bool,
}

struct RoundedSingles {
    saturate: bool,
}

impl Encode<2> for RoundedHalves {
    #[inline(always)]
    fn encode(&self, [low, high]: [f64; 2]) -> u32 {
        let half = |sum| u32::from(product::round_f16(sum, self.saturate));
        half(low) | half(high) << 16
    }
}

impl Encode<1> for RoundedSingles {
    #[inline(always)]
    fn encode(&self, [sum]: [f64; 1]) -> u32 {
        product::round_f32(sum, self.saturate)
    }
}

/// Decodes a fragment of 32-bit registers into a dense matrix.
#[inline(always)]
fn gather<T: Copy, const N: usize>(
    frame: &Frame,
    fragment: &Fragment,
    matrix: &mut [T; N],
    values: &mut [T; 256],
    decoder: impl Decode<T>,
) {
    let per_register = fragment.places.len() / fragment.rows.len().max(1);
    for (&row, places) in fragment.rows.iter().zip(fragment.places.chunks_exact(per_register)) {
        decoder.decode(&frame.lanes::<u32>(row), values);
        if fragment.has_runs {
            for (places, run) in places.as_chunks::<8>().0.iter().zip(values.as_chunks::<8>().0) {
                if let Some(elements) = matrix[usize::from(places[0]) % N..].first_chunk_mut() {
                    *elements = *run;
                }
            }
        } else {
            put_each(places, values, matrix);
        }
    }
}

/// Puts each value at its place.
///
/// Not inlined, so that it is compiled for every CPU alike: AVX-512 has a scatter instruction,
/// which is slower than the stores that it stands for.
#[inline(never)]
fn put_each<T: Copy, const N: usize>(places: &[u16], values: &[T; 256], matrix: &mut [T; N]) {
    for (&place, &value) in places.iter().zip(values) {
        matrix[usize::from(place) % N] = value;
    }
}

/// Takes each value from its place; not inlined for the same reason.
#[inline(never)]
fn take_each(places: &[u16], matrix: &[f64; LARGEST_D], values: &mut [f64; 256]) {
    for (&place, value) in places.iter().zip(values) {
        *value = matrix[usize::from(place) % LARGEST_D];
    }
}

/// Encode a dense matrix into a fragment of 32-bit registers, `E` elements in each.
#[inline(always)]
fn scatter<const E: usize>(
    frame: &Frame,
    fragment: &Fragment,
    matrix: &[f64; LARGEST_D],
    values: &mut [f64; 256],
    encoder: impl Encode<E>,
) {
    for (&row, places) in fragment.rows.iter().zip(fragment.places.chunks_exact(32 * E)) {
        take_each(places, matrix, values);
        let mut register = [0; 32];
        for (word, sums) in register.iter_mut().zip(values.as_chunks::<E>().0) {
            *word = encoder.encode(*sums);
        }
        frame.set_lanes::<u32>(row, FULL_MASK, register);
    }
}

#[inline(always)]
fn gather_f64<const N: usize>(frame: &Frame, fragment: &Fragment, matrix: &mut [f64; N]) {
    for (&row, places) in fragment.rows.iter().zip(fragment.places.chunks_exact(32)) {
        let register = frame.lanes::<u64>(row);
        for (&place, bits) in places.iter().zip(register) {
            matrix[usize::from(place) % N] = f64::from_bits(bits);
        }
    }
}

#[inline(always)]
fn scatter_f64(frame: &Frame, fragment: &Fragment, matrix: &[f64; LARGEST_D]) {
    for (&row, places) in fragment.rows.iter().zip(fragment.places.chunks_exact(32)) {
        let mut register = [0; 32];
        for (word, &place) in register.iter_mut().zip(places) {
            *word = matrix[usize::from(place) % LARGEST_D].to_bits();
        }
        frame.set_lanes::<u64>(row, FULL_MASK, register);
    }
}

/// The columns of the elements of a sparse A that stores `stored` elements of each row, as its
/// metadata says.
pub(super) fn find_columns(
    frame: &Frame,
    sparse: &Sparse,
    stored: u32,
    columns: &mut [u16],
) -> Result<(), OperandFault> {
    let metadata = frame.lanes::<u32>(sparse.metadata);
    let chunk = sparse.sparsity.chunk();
    for (row, columns) in (0..).zip(columns.chunks_exact_mut(stored as usize)) {
        for (index, columns) in (0..).zip(columns.chunks_exact_mut(chunk as usize / 2)) {
            let (lane, bit) = sparse.layout.field(sparse.selector, row, index);
            let register = metadata[lane as usize % 32];
            let Some(positions) = sparse.sparsity.positions(register >> bit & 15, sparse.ordered)
            else {
                return Err(undefined(lane, "this sparsity metadata", register));
            };
            for (column, position) in columns.iter_mut().zip(positions) {
                *column = (index * chunk + position) as u16;
            }
        }
    }
    Ok(())
}

/// Multiplies A and B by their block scales; every product is exact. `columns` are those of A's
/// elements if it is sparse.
fn apply_scales(
    frame: &Frame,
    op: &Multiply,
    (scale_a, scale_b): (&Scale, &Scale),
    a: &mut [f64; LARGEST_A],
    columns: Option<&[u16; LARGEST_A]>,
    b: &mut [f64; LARGEST_B],
) -> Result<(), OperandFault> {
    let (n, k) = (op.shape.n as usize, op.shape.k as usize);
    let factors_a = Factors::new(frame, scale_a, 2, "this selector of scale_A")?;
    let factors_b = Factors::new(frame, scale_b, 4, "this selector of scale_B")?;
    let stored = stored_columns(op) as usize;
    for (row, elements) in a.chunks_exact_mut(stored).take(op.shape.m as usize).enumerate() {
        let lane = scale::lane_of_row(row as u32, factors_a.thread_id);
        for (index, element) in elements.iter_mut().enumerate() {
            let column = columns.map_or(index, |columns| columns[row * stored + index].into());
            *element *= factors_a.value(lane, (column / (k / scale_a.blocks as usize)) as u32);
        }
    }
    for (row, elements) in b.chunks_exact_mut(n).take(k).enumerate() {
        let block = row / (k / scale_b.blocks as usize);
        for (column, element) in elements.iter_mut().enumerate() {
            let lane = scale::lane_of_column(column as u32, factors_b.thread_id);
            *element *= factors_b.value(lane, block as u32);
        }
    }
    Ok(())
}

/// The factors of one block scale.
struct Factors {
    data: [u32; 32],
    byte_id: u32,
    thread_id: u32,
    format: scale::ScaleFormat,
}

impl Factors {
    /// Checks the selectors, which are the same for the whole warp; `threads` is the number of
    /// values of a thread selector.
    fn new(
        frame: &Frame,
        scale: &Scale,
        threads: u32,
        what: &'static str,
    ) -> Result<Self, OperandFault> {
        let [data, byte_ids, thread_ids] =
            [scale.data, scale.byte_id, scale.thread_id].map(|row| frame.lanes::<u32>(row));
        let (byte_id, thread_id) = (byte_ids[0] & 0xffff, thread_ids[0] & 0xffff);
        for lane in 0..32u32 {
            let own = (byte_ids[lane as usize] & 0xffff, thread_ids[lane as usize] & 0xffff);
            let valid = scale::are_selectors_valid(scale.blocks, own.0, own.1, threads);
            if !valid || own != (byte_id, thread_id) {
                return Err(undefined(lane, what, own.1 << 16 | own.0));
            }
        }
        Ok(Self { data, byte_id, thread_id, format: scale.format })
    }

    fn value(&self, lane: u32, block: u32) -> f64 {
        self.format.value(scale::factor(self.data[lane as usize % 32], self.byte_id, block))
    }
}
