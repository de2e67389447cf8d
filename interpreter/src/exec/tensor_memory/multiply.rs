//! `tcgen05.mma`: D = A·B + D, with D in tensor memory, B in shared memory, A in either.
//!
//! Sums are those of `wgmma`: in binary64, term after term in the order of K, rounded once at the
//! end. Sums of integers wrap around, or are clamped when D is added.

use std::sync::Arc;

use gpucast_ptx_frontend::ScalarType;

use super::super::access::{self, KnownRead, KnownReads, ReadsKey};
use super::super::lanes::Frame;
use super::super::matrix::OperandFault;
use super::memory::TensorMemory;
use super::shared::SharedMatrix;
use super::tables::Tables;
use super::{Memories, cell, of_lane, shift, undefined};
use crate::observer::{TensorCells, TensorUse};
use crate::program::memory_op::MemoryOp;
use crate::program::tensor_memory_op::{BlockScales, FactorA, TensorMultiply};
use crate::semantics::matrix::element::{self, Format};
use crate::semantics::matrix::{Shape, product};
use crate::semantics::tensor_memory::descriptor::{
    Accumulator, Element, InstructionDescriptor, Kind, MatrixDescriptor,
};
use crate::semantics::tensor_memory::layout::{self, DataPath, Division};
use crate::semantics::tensor_memory::{Cell, LANES};

/// Columns of B and D that are computed at once.
const TILE: usize = 8;

/// The operands of a product in registers.
#[derive(Debug)]
pub(in crate::exec) struct ProductValues {
    /// The bits of the instruction descriptor.
    descriptor: u32,
    /// The zero-column mask.
    zeros: u64,
    a: PlaceOfA,
    /// The bits of B's matrix descriptor.
    b: u64,
    d: Cell,
    tables_of_b: Option<Cell>,
    metadata: Option<Cell>,
    scales: Option<[Cell; 2]>,
    adds: bool,
    /// Lanes of each CTA that are not written, word by word.
    disabled: Vec<u32>,
}

/// The place of A: the bits of its matrix descriptor, or its first cell.
#[derive(Clone, Copy, Debug)]
enum PlaceOfA {
    Shared(u64),
    Tensor(Cell),
}

impl ProductValues {
    /// Those of a lane.
    pub(super) fn of(frame: &Frame, op: &TensorMultiply, lane: u32) -> Self {
        let at = lane as usize & 31;
        let place = |place: &MemoryOp| cell(frame, place, lane);
        let (predicate, inverted) = op.adds;
        let adds = frame.lanes_where(predicate) >> lane & 1 != 0;
        Self {
            descriptor: frame.lane::<u32>(op.descriptor, at),
            zeros: op.zeros.map_or(0, |row| frame.lane::<u64>(row, at)),
            a: match &op.a {
                FactorA::Shared(row) => PlaceOfA::Shared(frame.lane::<u64>(*row, at)),
                FactorA::Tensor(first) => PlaceOfA::Tensor(place(first)),
            },
            b: frame.lane::<u64>(op.b, at),
            d: place(&op.d),
            tables_of_b: op.tables_of_b.as_ref().map(place),
            metadata: op.metadata.as_ref().map(place),
            scales: op.scales.as_ref().map(|scales| [place(&scales.a), place(&scales.b)]),
            adds: adds != inverted,
            disabled: op.disabled_lanes.iter().map(|&row| frame.lane::<u32>(row, at)).collect(),
        }
    }
}

/// What a product has read, and its operations.
pub(super) struct Done {
    /// Those of shared memory.
    pub(super) reads: Arc<[KnownRead]>,
    pub(super) cells_read: Vec<TensorCells>,
    pub(super) cells_written: Vec<TensorCells>,
    pub(super) product: TensorUse,
}

/// The operands of one product, and where they were read.
struct Gathered {
    operands: Operands,
    /// Those of shared memory.
    reads: Arc<[KnownRead]>,
    /// Cells of A, metadata and scales.
    cells: Vec<TensorCells>,
}

/// The operands of one product.
struct Operands {
    descriptor: InstructionDescriptor,
    division: Division,
    d: Cell,
    /// Words of A's rows for each CTA and each part of the columns.
    a: Vec<Vec<Vec<u32>>>,
    /// Words of B's columns.
    b: Vec<u32>,
    /// The columns of A's stored elements for each CTA, if it is sparse.
    places: Option<Vec<Vec<u16>>>,
    /// Factors of A and B for each CTA, if they have any.
    scales: Option<Vec<[Vec<f64>; 2]>>,
    adds: bool,
    shift_d: u32,
    /// Lanes of each CTA that are not written, word by word.
    disabled: Vec<u32>,
    /// Elements of a row of A, and of those the stored ones.
    depth: usize,
    stored: usize,
}

/// Executes a product that one lane issues. Without `computes` its addresses are checked, and not
/// what lies there, once for each product that is `known`.
pub(super) fn multiply(
    memories: &access::Memories<'_>,
    op: &TensorMultiply,
    values: &ProductValues,
    (warp, lane): (u32, u32),
    known: Option<&mut KnownReads>,
    computes: bool,
) -> Result<Done, OperandFault> {
    let memories = Memories::new(memories, op.ctas);
    let gathered = operands(&memories, op, values, lane, known, computes)?;
    let Gathered { operands, reads, cells: mut cells_read } = gathered;
    let mut cells_written = Vec::new();
    let Operands { descriptor, division, stored, .. } = &operands;
    let (m, n) = (u64::from(descriptor.m), u64::from(descriptor.n));
    let product = TensorUse {
        instruction: op.instruction,
        ty: scalar(descriptor.a),
        sum: scalar_of_sum(descriptor.d),
        operations: 2 * m * n * *stored as u64,
        warp,
        rows: division.rows(),
        columns: descriptor.n / division.parts(),
    };
    for at in 0..op.ctas {
        let mut memory = memories.of(at)?;
        let columns = descriptor.n / division.parts();
        let lanes = division.lane(division.rows() - 1, division.parts() - 1) + 1;
        memory.check(operands.d, lanes, columns).map_err(of_lane(lane))?;
        let of_d = cells_of_d(&operands, memories.first + at, at);
        if operands.adds {
            cells_read.extend_from_slice(&of_d);
        }
        cells_written.extend(of_d);
        if computes {
            match descriptor.d {
                Accumulator::S32 => integer(&operands, &mut memory, at as usize),
                Accumulator::F16 | Accumulator::F32 => float(&operands, &mut memory, at as usize),
            }
        }
        if let (true, PlaceOfA::Tensor(first)) = (op.shifts_a, values.a) {
            for quarter in (0..LANES).step_by(shift::QUARTER as usize) {
                let base = first.offset(quarter, 0);
                if computes {
                    shift::quarter(&mut memory, base);
                }
                cells_written.push(shift::cells(memories.first + at, base));
            }
        }
    }
    Ok(Done { reads, cells_read, cells_written, product })
}

/// The cells of D of the CTA at place `at` that are written.
fn cells_of_d(operands: &Operands, rank: u32, at: u32) -> Vec<TensorCells> {
    let Operands { descriptor, division, d, .. } = operands;
    let columns = descriptor.n / division.parts();
    let enabled = |&lane: &u32| {
        let words = operands.disabled.get(4 * at as usize + (d.lane + lane) as usize / 32);
        words.is_none_or(|word| word >> ((d.lane + lane) % 32) & 1 == 0)
    };
    let lanes = (0..division.parts())
        .flat_map(|part| (0..division.rows()).map(move |row| division.lane(row, part)))
        .filter(enabled);
    let mut cells: Vec<TensorCells> = Vec::new();
    for lane in lanes {
        let lane = d.lane + lane;
        match cells.last_mut() {
            Some(last) if last.lane + last.lanes == lane => last.lanes += 1,
            _ => cells.push(TensorCells { rank, lane, lanes: 1, column: d.column, columns }),
        }
    }
    cells
}

/// Reads the operands of a lane's product. Without `computes` contents may have yet to come, and
/// are not looked at.
fn operands(
    memories: &Memories<'_>,
    op: &TensorMultiply,
    values: &ProductValues,
    lane: u32,
    known: Option<&mut KnownReads>,
    computes: bool,
) -> Result<Gathered, OperandFault> {
    let bits = values.descriptor;
    let (descriptor, division) = decode(op, bits)
        .ok_or_else(|| undefined(lane, "this instruction descriptor", bits.into()))?;
    if values.zeros != 0 {
        let what = "a zero-column mask that is not executed yet";
        return Err(undefined(lane, what, values.zeros));
    }
    if op.shifts_a && !matches!(descriptor.m, 128 | 256) {
        let what = "a shift of A in a product of so many rows";
        return Err(undefined(lane, what, descriptor.m.into()));
    }
    let sparse = if descriptor.sparse { 2 } else { 1 };
    let deep = if descriptor.deep { 2 } else { 1 };
    let stored = (op.kind.depth() * deep) as usize;
    let mut cells = Vec::new();
    let b = matrix_descriptor(values.b, lane)?;
    let columns_of_b = SharedMatrix {
        descriptor: b,
        major: descriptor.major_b,
        element: descriptor.b,
        rows: descriptor.n / op.ctas,
        bytes: descriptor.depth_bytes() * sparse,
    };
    let tables = match values.tables_of_b {
        None => None,
        Some(place) => Some(Tables::of(&descriptor, b, place, lane)?),
    };
    let places_of_factors =
        PlacesOfFactors { op, values, descriptor: &descriptor, division, columns_of_b, tables };
    let found = match (known, values.a, &places_of_factors.tables) {
        (Some(known), PlaceOfA::Shared(a), None) if !computes => {
            let key = ReadsKey {
                instruction: op.instruction,
                part: memories.memories.rank,
                window: memories.shared_address(0, 0),
                product: bits,
                a: Some(a),
                b: values.b,
            };
            let reads = known.of(&key, || Ok(places_of_factors.read(memories, lane)?.rows))?;
            Factors { reads, ..Factors::default() }
        }
        _ => places_of_factors.read(memories, lane)?.told(),
    };
    let Factors { a: a_words, b: b_words, reads, cells: of_factors } = found;
    cells.extend(of_factors);
    if computes {
        let of_a = a_words.iter().flatten().map(Vec::as_slice);
        of_a.chain([b_words.as_slice()])
            .try_for_each(|words| check_zeros(descriptor.a, words, lane))?;
    }
    let places = match values.metadata {
        None => None,
        Some(place) => {
            let is_wide = self::bits(descriptor.a) >= 16;
            let selects = if is_wide { descriptor.selector } else { 0 };
            cells.extend((0..op.ctas).map(|cta| TensorCells {
                rank: memories.first + cta,
                lane: place.lane,
                lanes: LANES,
                column: place.column + selects,
                columns: if is_wide { 1 } else { 2 },
            }));
            let of = |cta| {
                let memory = memories.of(cta)?;
                let place = place_of_columns(&memory, place, &descriptor, lane)?;
                match computes {
                    true => find_columns(&memory, place, &descriptor, division, stored, lane),
                    false => Ok(Vec::new()),
                }
            };
            Some((0..op.ctas).map(of).collect::<Result<Vec<_>, _>>()?)
        }
    };
    let scales = match op.scales.as_ref().zip(values.scales) {
        None => None,
        Some((scales, places)) => {
            let rows = [division.rows(), descriptor.n / division.parts()];
            for cta in 0..op.ctas {
                for (place, rows) in places.into_iter().zip(rows) {
                    cells.extend((0..4).map(|quarter| TensorCells {
                        rank: memories.first + cta,
                        lane: place.lane + 32 * quarter,
                        lanes: rows.min(32),
                        column: place.column,
                        columns: rows.div_ceil(32),
                    }));
                }
            }
            let of = |cta| {
                let memory = memories.of(cta)?;
                factors(&memory, places, scales, &descriptor, division, (lane, computes))
            };
            Some((0..op.ctas).map(of).collect::<Result<Vec<_>, _>>()?)
        }
    };
    let operands = Operands {
        descriptor,
        division,
        d: values.d,
        a: a_words,
        b: b_words,
        places,
        scales,
        adds: values.adds,
        shift_d: op.shift_d,
        disabled: values.disabled.clone(),
        depth: stored * sparse as usize,
        stored,
    };
    Ok(Gathered { operands, reads, cells })
}

/// The places of a product's factors.
struct PlacesOfFactors<'a> {
    op: &'a TensorMultiply,
    values: &'a ProductValues,
    descriptor: &'a InstructionDescriptor,
    division: Division,
    columns_of_b: SharedMatrix,
    tables: Option<Tables>,
}

/// The words of a product's factors, and where they were read.
#[derive(Default)]
struct Factors {
    a: Vec<Vec<Vec<u32>>>,
    b: Vec<u32>,
    reads: Arc<[KnownRead]>,
    cells: Vec<TensorCells>,
}

/// The same with the addresses of the 16-byte rows.
#[derive(Default)]
struct FoundFactors {
    a: Vec<Vec<Vec<u32>>>,
    b: Vec<u32>,
    rows: Vec<u64>,
    cells: Vec<TensorCells>,
}

impl FoundFactors {
    fn told(self) -> Factors {
        let Self { a, b, rows, cells } = self;
        Factors { a, b, reads: KnownRead::of_rows(&rows).collect(), cells }
    }
}

impl PlacesOfFactors<'_> {
    /// Reads the factors from all CTAs.
    fn read(&self, memories: &Memories<'_>, lane: u32) -> Result<FoundFactors, OperandFault> {
        let Self { descriptor, division, columns_of_b, .. } = *self;
        let mut found = FoundFactors::default();
        for cta in 0..self.op.ctas {
            let words = match self.values.a {
                PlaceOfA::Shared(bits) => {
                    let matrix = SharedMatrix {
                        descriptor: matrix_descriptor(bits, lane)?,
                        major: descriptor.major_a,
                        element: descriptor.a,
                        rows: division.rows(),
                        bytes: descriptor.depth_bytes(),
                    };
                    let words = matrix.read(memories, cta, lane)?;
                    found.rows.extend(matrix.addresses(memories, cta));
                    vec![words; division.parts() as usize]
                }
                PlaceOfA::Tensor(place) => {
                    let memory = memories.of(cta)?;
                    let rank = memories.first + cta;
                    for part in 0..division.parts() {
                        let rows = (0..division.rows()).step_by(16);
                        found.cells.extend(rows.map(|row| TensorCells {
                            rank,
                            lane: place.lane + division.lane(row, part),
                            lanes: 16,
                            column: place.column,
                            columns: descriptor.depth_bytes() / 4,
                        }));
                    }
                    a_of_tensor_memory(&memory, place, self.op, descriptor, division, lane)?
                }
            };
            found.a.push(words);
            match &self.tables {
                None => {
                    found.b.extend(columns_of_b.read(memories, cta, lane)?);
                    found.rows.extend(columns_of_b.addresses(memories, cta));
                }
                Some(tables) => {
                    let rows = columns_of_b.rows;
                    found.b.extend(tables.decompress(memories, rows, cta, lane)?);
                    found.rows.extend(tables.addresses(memories, rows, cta));
                    found.cells.push(tables.cells(memories.first + cta, rows));
                }
            }
        }
        Ok(found)
    }
}

/// The instruction descriptor and the division of the product, if they have a meaning.
fn decode(op: &TensorMultiply, bits: u32) -> Option<(InstructionDescriptor, Division)> {
    let descriptor = InstructionDescriptor::decode(op.kind, bits)?;
    let InstructionDescriptor { m, n, .. } = descriptor;
    let division = Division::of(m, n, op.ctas, op.weight_stationary)?;
    let full = division.path == DataPath::Full || op.ctas == 2;
    let fits = descriptor.sparse == op.metadata.is_some()
        // Where the metadata of fewer rows lies is not known here.
        && (!descriptor.sparse || division.path == DataPath::Full)
        && (!op.kind.is_scaled() || full)
        && (op.tables_of_b.is_none() || Tables::may_serve(&descriptor))
        && op.scales.as_ref().is_none_or(|scales| are_scales_valid(op.kind, scales, &descriptor));
    fits.then_some((descriptor, division))
}

fn are_scales_valid(kind: Kind, scales: &BlockScales, descriptor: &InstructionDescriptor) -> bool {
    use crate::semantics::matrix::scale::ScaleFormat;
    let fits = |byte: u32| byte + scales.factors <= 4 && byte.is_multiple_of(scales.factors);
    fits(descriptor.scale_a)
        && fits(descriptor.scale_b)
        && (kind == Kind::Mxf4 || descriptor.scale == ScaleFormat::Ue8m0)
}

fn matrix_descriptor(bits: u64, lane: u32) -> Result<MatrixDescriptor, OperandFault> {
    let descriptor = MatrixDescriptor::decode(bits);
    descriptor.ok_or_else(|| undefined(lane, "this matrix descriptor", bits))
}

/// The words of A's rows in tensor memory, for each part of the columns: lanes that work on
/// different columns have a copy of A each.
fn a_of_tensor_memory(
    memory: &TensorMemory,
    place: Cell,
    op: &TensorMultiply,
    descriptor: &InstructionDescriptor,
    division: Division,
    lane: u32,
) -> Result<Vec<Vec<u32>>, OperandFault> {
    if op.weight_stationary && division.path != DataPath::Full {
        let what = "A in tensor memory of a weight-stationary product of so few rows";
        return Err(undefined(lane, what, descriptor.m.into()));
    }
    let columns = descriptor.depth_bytes() / 4;
    let lanes = division.lane(division.rows() - 1, division.parts() - 1) + 1;
    memory.check(place, lanes, columns).map_err(of_lane(lane))?;
    let is_six = matches!(descriptor.a, Element::E2m3 | Element::E3m2);
    let part = |part| {
        let word = |row, column| {
            let word = memory.get(place.offset(division.lane(row, part), column));
            // Six bits lie in the middle of their byte.
            if is_six { word >> 1 & 0x3f3f_3f3f } else { word }
        };
        let rows = 0..division.rows();
        rows.flat_map(|row| (0..columns).map(move |column| (row, column)))
            .map(|(row, column)| word(row, column))
            .collect()
    };
    Ok((0..division.parts()).map(part).collect())
}

/// The first cell of the metadata of a sparse A that is selected.
fn place_of_columns(
    memory: &TensorMemory,
    place: Cell,
    descriptor: &InstructionDescriptor,
    lane: u32,
) -> Result<Cell, OperandFault> {
    let bits = bits(descriptor.a);
    let is_wide = bits >= 16;
    // An even column and the one behind it, of which the selector chooses.
    let selects = if is_wide { descriptor.selector } else { 0 };
    if descriptor.selector > u32::from(is_wide) {
        let what = "this selector of metadata";
        return Err(undefined(lane, what, descriptor.selector.into()));
    }
    let place = place.offset(0, selects);
    memory.check(place, LANES, if is_wide { 1 } else { 2 }).map_err(of_lane(lane))?;
    Ok(place)
}

/// The columns of A's stored elements, by metadata from cell `place` on.
fn find_columns(
    memory: &TensorMemory,
    place: Cell,
    descriptor: &InstructionDescriptor,
    division: Division,
    stored: usize,
    lane: u32,
) -> Result<Vec<u16>, OperandFault> {
    let bits = bits(descriptor.a);
    let sparsity = layout::sparsity(bits);
    let of_chunk = sparsity.chunk() as usize / 2;
    let mut columns = Vec::with_capacity(division.rows() as usize * stored);
    for row in 0..division.rows() {
        for chunk in 0..(stored / of_chunk) as u32 {
            let field = layout::metadata(bits, row, chunk);
            let cell = place.offset(field.cell.lane, field.cell.column);
            let code = memory.get(cell) >> field.bit & 15;
            let positions = sparsity.positions(code, false).ok_or_else(|| {
                undefined(lane, "this field of the metadata of a sparse matrix", code.into())
            })?;
            let first = chunk * sparsity.chunk();
            columns.extend(positions[..of_chunk].iter().map(|&at| (first + at) as u16));
        }
    }
    Ok(columns)
}

/// The factors of A's rows and B's columns, those of a row together. Each quarter of the lanes has
/// a copy of them, or each quarter of a half where the halves work on different columns.
fn factors(
    memory: &TensorMemory,
    [a, b]: [Cell; 2],
    scales: &BlockScales,
    descriptor: &InstructionDescriptor,
    division: Division,
    (lane, computes): (u32, bool),
) -> Result<[Vec<f64>; 2], OperandFault> {
    let read = |place: Cell, rows: u32, first_byte: u32, parts: u32| {
        let of_part = rows / parts;
        memory.check(place, LANES, of_part.div_ceil(32)).map_err(of_lane(lane))?;
        let mut values = Vec::with_capacity((rows * scales.factors) as usize);
        for row in 0..rows {
            let (part, row) = (row / of_part, row % of_part);
            let copies = 4 / parts;
            let copy = |copy| {
                let quarter = part * copies + copy;
                memory.get(place.offset(row % 32 + 32 * quarter, row / 32))
            };
            let word = copy(0);
            let used = (u32::MAX >> (32 - 8 * scales.factors)) << (8 * first_byte);
            if computes && (1..copies).any(|other| (copy(other) ^ word) & used != 0) {
                let what = "block scales whose copies in the quarters of tensor memory differ";
                return Err(undefined(lane, what, word.into()));
            }
            for factor in 0..scales.factors {
                let code = (word >> (8 * (first_byte + factor))) as u8;
                values.push(descriptor.scale.value(code));
            }
        }
        Ok(values)
    };
    Ok([
        read(a, division.rows(), descriptor.scale_a, 1)?,
        read(b, descriptor.n, descriptor.scale_b, division.parts())?,
    ])
}

/// One CTA's part of a product of floating-point numbers.
fn float(operands: &Operands, memory: &mut TensorMemory, cta: usize) {
    let Operands { descriptor, depth, stored, .. } = operands;
    let mut b = floats(descriptor.b, &operands.b, descriptor.negate_b);
    let scales = operands.scales.as_ref().map(|scales| &scales[cta]);
    if let Some([_, of_b]) = scales {
        scale(&mut b, of_b, *depth);
    }
    for (part, words) in operands.a[cta].iter().enumerate() {
        let mut a = floats(descriptor.a, words, descriptor.negate_a);
        if let Some([of_a, _]) = scales {
            scale(&mut a, of_a, *stored);
        }
        let load = |bits: u32| {
            let value = match descriptor.d {
                Accumulator::F16 => element::f16(bits as u16),
                _ => f64::from(f32::from_bits(bits)),
            };
            value / f64::from(1u32 << operands.shift_d)
        };
        let places = operands.places.as_ref().map(|places| &places[cta]);
        let compute = |shape: Shape, b: &[f64], d: &mut [f64], before: &[u32]| {
            for (sum, &bits) in d.iter_mut().zip(before) {
                *sum = if operands.adds { load(bits) } else { 0.0 };
            }
            match places {
                None => product::float(shape, &a, b, d),
                Some(columns) => product::sparse_float(shape, &a, columns, b, d),
            }
        };
        let store = |sum: f64, _| match descriptor.d {
            Accumulator::F16 => product::round_f16(sum, false).into(),
            _ => product::round_f32(sum, false),
        };
        tiles(operands, memory, (cta, part), &b, compute, store);
    }
}

/// One CTA's part of a product of integers.
fn integer(operands: &Operands, memory: &mut TensorMemory, cta: usize) {
    let descriptor = &operands.descriptor;
    let b = integers(descriptor.b, &operands.b, descriptor.negate_b);
    for (part, words) in operands.a[cta].iter().enumerate() {
        let a = integers(descriptor.a, words, descriptor.negate_a);
        let places = operands.places.as_ref().map(|places| &places[cta]);
        let compute = |shape: Shape, b: &[i32], d: &mut [i32], _: &[u32]| {
            d.fill(0);
            match places {
                None => product::integer(shape, &a, b, d),
                Some(columns) => product::sparse_integer(shape, &a, columns, b, d),
            }
        };
        let store = |sum: i32, before: u32| {
            let before = if operands.adds { before.cast_signed() } else { 0 };
            product::add_integer(sum, before, descriptor.saturate).cast_unsigned()
        };
        tiles(operands, memory, (cta, part), &b, compute, store);
    }
}

/// Computes the columns of one part, eight at a time. `compute` gets the shape of a tile, the
/// tile's rows of B, room for the sums, and the cells of D before; `store` makes a cell of a sum
/// and of what was there.
fn tiles<T: Copy + Default>(
    operands: &Operands,
    memory: &mut TensorMemory,
    (cta, part): (usize, usize),
    b: &[T],
    compute: impl Fn(Shape, &[T], &mut [T], &[u32]),
    store: impl Fn(T, u32) -> u32,
) {
    let Operands { descriptor, division, depth, .. } = operands;
    let rows = division.rows();
    let columns = (descriptor.n / division.parts()) as usize;
    let shape = Shape { m: rows, n: TILE as u32, k: *depth as u32 };
    let mut tile = vec![T::default(); depth * TILE];
    let mut sums = vec![T::default(); rows as usize * TILE];
    let mut before = vec![0; sums.len()];
    let first = part * columns;
    for column in (first..first + columns).step_by(TILE) {
        for at in 0..TILE {
            let elements = &b[(column + at) * depth..][..*depth];
            for (row, &element) in elements.iter().enumerate() {
                tile[row * TILE + at] = element;
            }
        }
        let cell = |place: usize| {
            let (row, at) = (place / TILE, place % TILE);
            let cell = division.cell(descriptor.n, row as u32, (column + at) as u32);
            operands.d.offset(cell.lane, cell.column)
        };
        for (place, word) in before.iter_mut().enumerate() {
            *word = memory.get(cell(place));
        }
        compute(shape, &tile, &mut sums, &before);
        for (place, (&sum, &before)) in sums.iter().zip(&before).enumerate() {
            let cell = cell(place);
            let words = operands.disabled.get(4 * cta + cell.lane as usize / 32);
            if words.is_none_or(|word| word >> (cell.lane % 32) & 1 == 0) {
                memory.set(cell, store(sum, before));
            }
        }
    }
}

/// Multiplies rows of `depth` elements by their factors; every product is exact.
fn scale(elements: &mut [f64], factors: &[f64], depth: usize) {
    let rows = elements.len() / depth;
    let of_row = factors.len() / rows.max(1);
    for (row, factors) in elements.chunks_exact_mut(depth).zip(factors.chunks_exact(of_row)) {
        for (block, factor) in row.chunks_exact_mut(depth / of_row).zip(factors) {
            block.iter_mut().for_each(|element| *element *= factor);
        }
    }
}

/// The values of words of elements.
fn floats(element: Element, words: &[u32], negate: bool) -> Vec<f64> {
    let format = format(element);
    let sign = if negate { -1.0 } else { 1.0 };
    let mut values = Vec::new();
    for words in words.as_chunks::<32>().0 {
        let mut decoded = [0.0; 256];
        element::decode_float(format, words, &mut decoded);
        let count = 32 * format.per_register() as usize;
        values.extend(decoded[..count].iter().map(|value| value * sign));
    }
    values
}

fn integers(element: Element, words: &[u32], negate: bool) -> Vec<i32> {
    let format = format(element);
    let sign = if negate { -1 } else { 1 };
    let mut values = Vec::new();
    for words in words.as_chunks::<32>().0 {
        let mut decoded = [0; 256];
        element::decode_integer(format, words, &mut decoded);
        let count = 32 * format.per_register() as usize;
        values.extend(decoded[..count].iter().map(|value| value * sign));
    }
    values
}

/// Checks that elements of a sign and eleven bits set no other bits.
fn check_zeros(element: Element, words: &[u32], lane: u32) -> Result<(), OperandFault> {
    const ZEROS: u32 = 0x7800_7800;
    match words.iter().find(|&word| element == Element::S1z4m11 && word & ZEROS != 0) {
        Some(&word) => {
            let what = "an element of `.kind::ti16` that sets one of its bits 11 to 14";
            Err(undefined(lane, what, word.into()))
        }
        None => Ok(()),
    }
}

fn format(element: Element) -> Format {
    match element {
        Element::F16 => Format::F16,
        Element::Bf16 => Format::Bf16,
        Element::Tf32 => Format::Tf32,
        Element::E4m3 => Format::E4m3,
        Element::E5m2 => Format::E5m2,
        Element::E2m3 => Format::E2m3,
        Element::E3m2 => Format::E3m2,
        Element::E2m1 => Format::E2m1InByte,
        Element::E2m1Dense => Format::E2m1,
        Element::U8 => Format::U8,
        Element::S8 => Format::S8,
        Element::S1z4m11 => Format::S1z4m11,
    }
}

fn scalar(element: Element) -> ScalarType {
    match element {
        Element::F16 => ScalarType::F16,
        Element::Bf16 => ScalarType::Bf16,
        Element::Tf32 => ScalarType::Tf32,
        Element::E4m3 => ScalarType::E4m3,
        Element::E5m2 => ScalarType::E5m2,
        Element::E2m3 => ScalarType::E2m3,
        Element::E3m2 => ScalarType::E3m2,
        Element::E2m1 | Element::E2m1Dense => ScalarType::E2m1,
        Element::U8 => ScalarType::U8,
        Element::S8 => ScalarType::S8,
        Element::S1z4m11 => ScalarType::S16,
    }
}

fn scalar_of_sum(sum: Accumulator) -> ScalarType {
    match sum {
        Accumulator::F16 => ScalarType::F16,
        Accumulator::F32 => ScalarType::F32,
        Accumulator::S32 => ScalarType::S32,
    }
}

/// Bits of an element as the metadata of a sparse matrix knows it.
fn bits(element: Element) -> u32 {
    match element {
        Element::Tf32 => 32,
        Element::F16 | Element::Bf16 | Element::S1z4m11 => 16,
        Element::E2m1Dense => 4,
        _ => 8,
    }
}
