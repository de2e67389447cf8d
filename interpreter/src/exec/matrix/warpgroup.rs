//! `wgmma.mma_async` and its sparse form: each warp's sixteen rows of a warpgroup's product, with B
//! and perhaps A in shared memory.
//!
//! It is done when all four warps have issued it, which the manual allows: `wgmma.wait_group` only
//! says when it is done at the latest.

use super::super::access::{Memories, ReadsKey, tell_reads};
use super::super::lanes::{FULL_MASK, Frame};
use super::super::warp::Context;
use super::OperandFault;
use super::multiply::find_columns as columns_of_metadata;
use crate::fault::FaultKind;
use crate::observer::Recorder;
use crate::program::matrix_op::{Accumulator, Arithmetic, WarpgroupA, WarpgroupMultiply};
use crate::program::memory_op::Space;
use crate::semantics::matrix::element::{self, Format};
use crate::semantics::matrix::warpgroup::{Descriptor, Major};
use crate::semantics::matrix::{Shape, fragment, product};

/// Bytes of a row of A and of a column of B, whatever the format. Of a sparse A they are half of
/// the columns, and columns of B are twice as long.
const DEPTH_BYTES: u32 = 32;
/// Rows of A and D of one warp.
const ROWS: usize = 16;
/// Columns of B and D that are computed at once.
const COLUMNS: usize = 8;
/// The most elements in [`DEPTH_BYTES`].
const A_DEPTH: usize = 32;
/// The most elements in a column of B.
const B_DEPTH: usize = 64;

/// Elements of A, B and the sums by rows, of which a tile uses the first ones.
struct Tile<T> {
    a: [T; ROWS * A_DEPTH],
    b: [T; B_DEPTH * COLUMNS],
    d: [T; ROWS * COLUMNS],
}

impl<T: Copy + Default> Tile<T> {
    fn new() -> Self {
        let zero = T::default();
        Self { a: [zero; ROWS * A_DEPTH], b: [zero; B_DEPTH * COLUMNS], d: [zero; ROWS * COLUMNS] }
    }
}

/// The columns of A's stored elements, if it is sparse.
type Columns = Option<[u16; ROWS * A_DEPTH]>;

/// Computes the part of warp `warp` of its warpgroup.
fn multiply(
    frame: &Frame,
    memories: &Memories<'_>,
    op: &WarpgroupMultiply,
    warp: u32,
) -> Result<(), OperandFault> {
    match op.arithmetic {
        Arithmetic::Float { d, .. } => float(frame, memories, op, warp, d),
        Arithmetic::Integer { saturate } => integer(frame, memories, op, warp, saturate),
        // There are no others; the lowering makes none.
        Arithmetic::Bits { .. } | Arithmetic::Double { .. } => {
            integer(frame, memories, op, warp, false)
        }
    }
}

/// Checks the operands of warp `warp` as [`multiply`] does, and multiplies nothing.
fn check(
    frame: &Frame,
    memories: &Memories<'_>,
    op: &WarpgroupMultiply,
    warp: u32,
) -> Result<(), OperandFault> {
    a_words(frame, memories, op, warp)?;
    keeps(frame, op)?;
    let descriptor = descriptor(frame, memories, op.b)?;
    for first in (0..op.shape.n).step_by(COLUMNS) {
        columns(memories, op, descriptor, first)?;
    }
    Ok(())
}

fn float(
    frame: &Frame,
    memories: &Memories<'_>,
    op: &WarpgroupMultiply,
    warp: u32,
    accumulator: Accumulator,
) -> Result<(), OperandFault> {
    let (k, stored) = (op.shape.k as usize, stored_columns(op));
    let decode = |format, negate: bool, words: &[u32; 32], values: &mut [f64]| {
        let mut decoded = [0.0; 256];
        element::decode_float(format, words, &mut decoded);
        let sign = if negate { -1.0 } else { 1.0 };
        for (value, &element) in values.iter_mut().zip(&decoded) {
            *value = element * sign;
        }
    };
    let mut tile = Tile::<f64>::new();
    let words = a_words(frame, memories, op, warp)?;
    for (words, values) in words.iter().zip(tile.a.chunks_mut(4 * stored)) {
        decode(op.a_format, op.negate_a, words, values);
    }
    let places_of_a = find_columns(frame, op)?;
    let keeps = keeps(frame, op)?;
    let descriptor = descriptor(frame, memories, op.b)?;
    for first in (0..op.shape.n).step_by(COLUMNS) {
        let words = columns(memories, op, descriptor, first)?;
        let mut columns = [0.0; B_DEPTH * COLUMNS];
        let per_array = 32 * op.b_format.per_register() as usize;
        for (words, values) in words.iter().zip(columns.chunks_mut(per_array)) {
            decode(op.b_format, op.negate_b, words, values);
        }
        transpose(&columns, k, &mut tile.b);
        let registers = registers(op, accumulator, first);
        let held = contents(frame, registers);
        for (lane, i, place) in places() {
            let (register, half) = match accumulator {
                Accumulator::F16 => (i / 2, i % 2),
                Accumulator::F32 => (i, 0),
            };
            let word = held[register][lane];
            tile.d[place] = match accumulator {
                _ if !keeps => 0.0,
                Accumulator::F16 => element::f16((word >> (16 * half)) as u16),
                Accumulator::F32 => f64::from(f32::from_bits(word)),
            };
        }
        let (a, b) = (&tile.a[..ROWS * stored], &tile.b[..k * COLUMNS]);
        match &places_of_a {
            None => product::float(shape(k), a, b, &mut tile.d),
            Some(columns) => product::sparse_float(shape(k), a, columns, b, &mut tile.d),
        }
        let mut results = [[0; 32]; 4];
        for (lane, i, place) in places() {
            match accumulator {
                Accumulator::F16 => {
                    let half = product::round_f16(tile.d[place], false);
                    results[i / 2][lane] |= u32::from(half) << (16 * (i % 2));
                }
                Accumulator::F32 => {
                    results[i][lane] = product::round_f32(tile.d[place], false);
                }
            }
        }
        for (&row, result) in registers.iter().zip(results) {
            frame.set_lanes::<u32>(row, FULL_MASK, result);
        }
    }
    Ok(())
}

fn integer(
    frame: &Frame,
    memories: &Memories<'_>,
    op: &WarpgroupMultiply,
    warp: u32,
    saturate: bool,
) -> Result<(), OperandFault> {
    let (k, stored) = (op.shape.k as usize, stored_columns(op));
    let decode = |format, words: &[u32; 32], values: &mut [i32]| {
        let mut decoded = [0; 256];
        element::decode_integer(format, words, &mut decoded);
        values.copy_from_slice(&decoded[..values.len()]);
    };
    let mut tile = Tile::<i32>::new();
    let words = a_words(frame, memories, op, warp)?;
    for (words, values) in words.iter().zip(tile.a.chunks_mut(4 * stored)) {
        decode(op.a_format, words, values);
    }
    let places_of_a = find_columns(frame, op)?;
    let keeps = keeps(frame, op)?;
    let descriptor = descriptor(frame, memories, op.b)?;
    for first in (0..op.shape.n).step_by(COLUMNS) {
        let words = columns(memories, op, descriptor, first)?;
        let mut columns = [0; B_DEPTH * COLUMNS];
        let per_array = 32 * op.b_format.per_register() as usize;
        for (words, values) in words.iter().zip(columns.chunks_mut(per_array)) {
            decode(op.b_format, words, values);
        }
        transpose(&columns, k, &mut tile.b);
        tile.d.fill(0);
        let (a, b) = (&tile.a[..ROWS * stored], &tile.b[..k * COLUMNS]);
        match (op.arithmetic, &places_of_a) {
            (Arithmetic::Bits { operation }, _) => {
                product::bits(shape(k), operation, a, b, &mut tile.d);
            }
            (_, None) => product::integer(shape(k), a, b, &mut tile.d),
            (_, Some(columns)) => {
                product::sparse_integer(shape(k), a, columns, b, &mut tile.d);
            }
        }
        let registers = registers(op, Accumulator::F32, first);
        let held = contents(frame, registers);
        let mut results = [[0; 32]; 4];
        for (lane, i, place) in places() {
            let word = held[i][lane];
            let before = if keeps { word.cast_signed() } else { 0 };
            let sum = product::add_integer(tile.d[place], before, saturate);
            results[i][lane] = sum.cast_unsigned();
        }
        for (&row, result) in registers.iter().zip(results) {
            frame.set_lanes::<u32>(row, FULL_MASK, result);
        }
    }
    Ok(())
}

/// Executes the part of warp `warp` of its warpgroup, and tells the recorder what it reads of
/// shared memory. Where nothing needs the product, operands are checked alone.
pub(super) fn execute(
    recorder: &mut dyn Recorder,
    frame: &Frame,
    context: &Context<'_>,
    op: &WarpgroupMultiply,
    warp: u32,
    time: u64,
) -> Result<(), OperandFault> {
    let memories = &context.memories;
    if op.computes {
        multiply(frame, memories, op, warp)?;
    } else {
        keeps(frame, op)?;
    }
    let a = match op.a {
        WarpgroupA::Registers(_) => None,
        WarpgroupA::Descriptor { row, .. } => Some(descriptor_bits(frame, row)?),
    };
    let key = ReadsKey {
        instruction: op.instruction,
        part: warp % 4,
        window: memories.own_address(0),
        product: 0,
        a,
        b: descriptor_bits(frame, op.b)?,
    };
    let mut patterns = context.patterns;
    let reads = patterns.reads().of(&key, || {
        check(frame, memories, op, warp)?;
        reads(frame, memories, op, warp)
    })?;
    tell_reads(recorder, &reads, op.instruction, warp, time);
    Ok(())
}

/// The addresses of the 16-byte rows that warp `warp` of a warpgroup reads: its rows of A, and its
/// share of B. A warpgroup reads B once. An SM's 128 bytes per clock could not feed the
/// tensor cores of four warps that each read all of it. Each warp reports every fourth group of
/// eight 16-byte rows.
fn reads(
    frame: &Frame,
    memories: &Memories<'_>,
    op: &WarpgroupMultiply,
    warp: u32,
) -> Result<Vec<u64>, OperandFault> {
    let place = warp % 4;
    let mut groups = Vec::new();
    if let WarpgroupA::Descriptor { row, major } = op.a {
        let descriptor = descriptor(frame, memories, row)?;
        let depth = Depth { major, format: op.a_format, bytes: DEPTH_BYTES };
        let rows = |first| depth.groups(descriptor, place * ROWS as u32 + first);
        groups.extend([0, 8].into_iter().flat_map(rows));
    }
    let depth = depth_of_b(op);
    let descriptor = descriptor(frame, memories, op.b)?;
    let of_b = (0..op.shape.n)
        .step_by(COLUMNS)
        .flat_map(|first| depth.groups(descriptor, first))
        .skip(place as usize)
        .step_by(4);
    groups.extend(of_b);
    Ok(groups.concat())
}

/// Returns the layout of a column of B in shared memory.
fn depth_of_b(op: &WarpgroupMultiply) -> Depth {
    let bytes = DEPTH_BYTES * if op.sparse.is_some() { 2 } else { 1 };
    Depth { major: op.b_major, format: op.b_format, bytes }
}

/// Columns of A that are stored.
fn stored_columns(op: &WarpgroupMultiply) -> usize {
    op.shape.k as usize / if op.sparse.is_some() { 2 } else { 1 }
}

/// The columns of A's stored elements.
fn find_columns(frame: &Frame, op: &WarpgroupMultiply) -> Result<Columns, OperandFault> {
    let Some(sparse) = &op.sparse else { return Ok(None) };
    let stored = stored_columns(op);
    let mut columns = [0; ROWS * A_DEPTH];
    columns_of_metadata(frame, sparse, stored as u32, &mut columns[..ROWS * stored])?;
    Ok(Some(columns))
}

/// The extents of a tile whose depth is `k` elements.
fn shape(k: usize) -> Shape {
    Shape { m: ROWS as u32, n: COLUMNS as u32, k: k as u32 }
}

/// Every lane's elements of a tile of D, and where they lie in it.
fn places() -> impl Iterator<Item = (usize, usize, usize)> {
    (0..32).flat_map(|lane| {
        (0..4).map(move |i| {
            let place = fragment::accumulator(shape(0), lane as u32, i as u32);
            (lane, i, place.row as usize * COLUMNS + place.column as usize)
        })
    })
}

/// The rows of the registers that hold the columns of D from `first` on.
fn registers(op: &WarpgroupMultiply, accumulator: Accumulator, first: u32) -> &[u32] {
    let each = if accumulator == Accumulator::F16 { 2 } else { 4 };
    op.d.chunks_exact(each).nth(first as usize / COLUMNS).unwrap_or_default()
}

/// The words of up to four registers.
fn contents(frame: &Frame, registers: &[u32]) -> [[u32; 32]; 4] {
    let mut words = [[0; 32]; 4];
    for (words, &row) in words.iter_mut().zip(registers) {
        *words = frame.lanes::<u32>(row);
    }
    words
}

/// Columns of `k` elements each, one after the other, as rows of eight.
fn transpose<T: Copy>(columns: &[T], k: usize, rows: &mut [T]) {
    for (column, elements) in columns.chunks_exact(k).take(COLUMNS).enumerate() {
        for (row, &element) in elements.iter().enumerate() {
            rows[row * COLUMNS + column] = element;
        }
    }
}

/// The words of the warp's sixteen rows of A, four rows at a time.
fn a_words(
    frame: &Frame,
    memories: &Memories<'_>,
    op: &WarpgroupMultiply,
    warp: u32,
) -> Result<[[u32; 32]; 4], OperandFault> {
    let mut words = [[0; 32]; 4];
    match op.a {
        WarpgroupA::Registers(rows) => {
            for (register, row) in (0..).zip(rows) {
                let register_words = frame.lanes::<u32>(row);
                for (lane, word) in (0..).zip(register_words) {
                    // A register counts as one element.
                    let shape = Shape { m: 16, n: 8, k: 8 };
                    let place = fragment::a(shape, 1, lane, register);
                    let (row, column) = (place.row as usize, place.column as usize);
                    words[row / 4][row % 4 * 8 + column] = word;
                }
            }
        }
        WarpgroupA::Descriptor { row, major } => {
            let descriptor = descriptor(frame, memories, row)?;
            let depth = Depth { major, format: op.a_format, bytes: DEPTH_BYTES };
            for (row, words) in (0..).zip(words.iter_mut().flat_map(|four| four.chunks_mut(8))) {
                depth.read(memories, descriptor, warp % 4 * 16 + row, words)?;
            }
        }
    }
    Ok(words)
}

/// The words of eight columns of B from `first` on, as many columns at a time as fit.
fn columns(
    memories: &Memories<'_>,
    op: &WarpgroupMultiply,
    descriptor: Descriptor,
    first: u32,
) -> Result<[[u32; 32]; 4], OperandFault> {
    let depth = depth_of_b(op);
    let mut words = [[0; 32]; 4];
    let columns = words.iter_mut().flat_map(|some| some.chunks_mut(depth.bytes as usize / 4));
    for (column, words) in (first..).zip(columns.take(COLUMNS)) {
        depth.read(memories, descriptor, column, words)?;
    }
    Ok(words)
}

/// The layout of a row of A or a column of B in shared memory.
#[derive(Clone, Copy)]
struct Depth {
    major: Major,
    format: Format,
    bytes: u32,
}

impl Depth {
    /// Elements of 16 bytes; those of `.b1` are counted in words of 32.
    fn per_row(self) -> u32 {
        4 * self.format.per_register()
    }

    /// The addresses of the 16-byte rows that hold the eight rows or columns from `first` on. They
    /// are in groups of eight that lie together unless a swizzle takes them apart.
    fn groups(self, descriptor: Descriptor, first: u32) -> impl Iterator<Item = [u64; 8]> {
        let per_row = self.per_row();
        (0..self.bytes / 16).map(move |group| {
            let address = |at| match self.major {
                Major::K => descriptor.row(Major::K, per_row, first + at, group * per_row),
                Major::MN => descriptor.row(Major::MN, per_row, first, group * 8 + at),
            };
            [0, 1, 2, 3, 4, 5, 6, 7].map(address)
        })
    }

    /// The elements of row or column `mn`, in the order of K.
    fn read(
        self,
        memories: &Memories<'_>,
        descriptor: Descriptor,
        mn: u32,
        words: &mut [u32],
    ) -> Result<(), OperandFault> {
        if self.major == Major::K
            && descriptor.swizzle != 0
            && 16 << descriptor.swizzle < self.bytes
        {
            let what = "a swizzle of fewer bytes than the instruction takes of each column";
            let kind = FaultKind::UndefinedOperand { what, value: 16 << descriptor.swizzle };
            return Err(OperandFault { lane: 0, kind });
        }
        let per_row = self.per_row();
        let mut bytes = [0; 2 * DEPTH_BYTES as usize];
        let bytes = &mut bytes[..self.bytes as usize];
        match self.major {
            Major::K => {
                for (index, bytes) in (0..).zip(bytes.as_chunks_mut::<16>().0) {
                    let address = descriptor.row(Major::K, per_row, mn, index * per_row);
                    *bytes = row(memories, address)?;
                }
            }
            // Only formats of 16 bits can be transposed.
            Major::MN => {
                for (k, bytes) in (0..).zip(bytes.as_chunks_mut::<2>().0) {
                    let address = descriptor.row(Major::MN, per_row, mn, k);
                    let row = row(memories, address)?;
                    let at = (mn % per_row) as usize * 2;
                    *bytes = [row[at % 16], row[(at + 1) % 16]];
                }
            }
        }
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Ok(())
    }
}

/// Sixteen bytes of the CTA's shared memory.
fn row(memories: &Memories<'_>, address: u64) -> Result<[u8; 16], OperandFault> {
    memories.read(Space::Shared, 0, address).map_err(|kind| OperandFault { lane: 0, kind })
}

/// Returns true if the product is added to D: `scale-d`, which must be the same in all lanes.
fn keeps(frame: &Frame, op: &WarpgroupMultiply) -> Result<bool, OperandFault> {
    let (predicate, negated) = op.scale_d;
    let lanes = frame.lanes_where(predicate);
    match lanes {
        0 => Ok(negated),
        FULL_MASK => Ok(!negated),
        mixed => {
            let what = "a scale-d that differs between lanes";
            let kind = FaultKind::UndefinedOperand { what, value: u64::from(mixed) };
            Err(OperandFault { lane: mixed.trailing_zeros(), kind })
        }
    }
}

/// The descriptor in a row, which must be the same in all lanes.
fn descriptor(
    frame: &Frame,
    memories: &Memories<'_>,
    row: u32,
) -> Result<Descriptor, OperandFault> {
    let descriptor = Descriptor::decode(descriptor_bits(frame, row)?);
    Ok(Descriptor { start: memories.own_address(descriptor.start), ..descriptor })
}

/// The same as the register holds it.
fn descriptor_bits(frame: &Frame, row: u32) -> Result<u64, OperandFault> {
    let descriptors = frame.lanes::<u64>(row);
    match descriptors.iter().position(|&other| other != descriptors[0]) {
        None => Ok(descriptors[0]),
        Some(lane) => {
            let what = "a matrix descriptor that differs between lanes";
            let kind = FaultKind::UndefinedOperand { what, value: descriptors[lane] };
            Err(OperandFault { lane: lane as u32, kind })
        }
    }
}
