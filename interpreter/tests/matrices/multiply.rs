//! `mma` and `mma.sp`: every combination of modifiers of every row.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use gpucast_interpreter::Program;
use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Form, Modifier, Opcode, forms_of};

use crate::exact::{self, Format, Number, Rounding, rank};
use crate::layout;
use crate::machine::{Random, keep, launch, to_bytes, words};

/// How elements of a type are read and lie in registers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Element {
    /// `shift` bits of padding below the code in a container.
    Float {
        format: Format,
        container: u32,
        shift: u32,
    },
    Integer {
        signed: bool,
        bits: u32,
    },
    Bit,
}

impl Element {
    pub(crate) fn new(ty: T, packed: bool) -> Self {
        let float = |format, container, shift| Self::Float { format, container, shift };
        match ty {
            T::F16 => float(exact::F16, 16, 0),
            T::Bf16 => float(exact::BF16, 16, 0),
            // The ten bits of tf32's significand are the upper ones of an f32's.
            T::Tf32 => float(exact::TF32, 32, 13),
            T::F32 => float(exact::F32, 32, 0),
            T::F64 => float(exact::F64, 64, 0),
            T::E4m3 => float(exact::E4M3, 8, 0),
            T::E5m2 => float(exact::E5M2, 8, 0),
            T::E3m2 => float(exact::E3M2, 8, 0),
            T::E2m3 => float(exact::E2M3, 8, 0),
            T::E2m1 if packed => float(exact::E2M1, 4, 0),
            T::E2m1 => float(exact::E2M1, 8, 2),
            T::U8 => Self::Integer { signed: false, bits: 8 },
            T::S8 => Self::Integer { signed: true, bits: 8 },
            T::U4 => Self::Integer { signed: false, bits: 4 },
            T::S4 => Self::Integer { signed: true, bits: 4 },
            T::S32 => Self::Integer { signed: true, bits: 32 },
            T::B1 => Self::Bit,
            other => panic!("no elements of {other:?}"),
        }
    }

    /// Bits that it takes in a register.
    pub(crate) fn container(self) -> u32 {
        match self {
            Self::Float { container, .. } => container,
            Self::Integer { bits, .. } => bits,
            Self::Bit => 1,
        }
    }

    /// The value of what stands in a container.
    pub(crate) fn value(self, code: u64) -> Number {
        match self {
            Self::Float { format, shift, .. } => {
                format.decode(code >> shift & (u64::MAX >> (64 - format.bits())))
            }
            Self::Integer { signed: false, .. } | Self::Bit => Number::integer(code as i64),
            Self::Integer { signed: true, bits } => {
                Number::integer((code << (64 - bits)) as i64 >> (64 - bits))
            }
        }
    }

    /// What stands in a container: padding is arbitrary. `small` numbers have exact sums.
    pub(crate) fn random(self, random: &mut Random, small: bool) -> u64 {
        let mask = u64::MAX >> (64 - self.container());
        let Self::Float { format, shift, .. } = self else { return random.next() & mask };
        let code = match (small, format.bits() >= 16) {
            // One in a hundred is anything at all, NaN and infinity not excluded.
            (false, true) if random.below(100) == 0 => match random.below(3) {
                0 => format.encode(&Number::Infinity(random.below(2) == 0), Rounding::Nearest),
                1 => format.encode(&Number::Nan, Rounding::Nearest),
                _ => random.below(4) << (format.bits() - 4) | random.below(4),
            },
            (false, true) => {
                // A few exponents around 0, and subnormals.
                let exponent = match random.below(8) {
                    0 => 0,
                    _ => (1 << (format.exponent_bits - 1)) - 8 + random.below(14),
                };
                let sign = random.below(2) << format.exponent_bits;
                let mantissa = random.next() & ((1 << format.mantissa_bits) - 1);
                (sign | exponent) << format.mantissa_bits | mantissa
            }
            (true, true) => {
                let value = Number::integer(random.below(17) as i64 - 8);
                format.encode(&value, Rounding::Nearest)
            }
            (_, false) => loop {
                let code = random.next() & ((1 << format.bits()) - 1);
                let finite = matches!(format.decode(code), Number::Finite { .. });
                if finite || !small && random.below(30) == 0 {
                    break code;
                }
            },
        };
        let padding = random.next() & !((u64::MAX >> (64 - format.bits())) << shift);
        if format.bits() == self.container() { code } else { (code << shift | padding) & mask }
    }
}

/// What an instruction's modifiers say.
pub(crate) struct Case {
    pub(crate) form: &'static Form,
    pub(crate) modifiers: Vec<Modifier>,
    pub(crate) shape: &'static str,
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) d: T,
    pub(crate) a: T,
    pub(crate) b: T,
    pub(crate) c: T,
    pub(crate) scale: Option<T>,
}

impl Case {
    pub(crate) fn new(form: &'static Form, modifiers: Vec<Modifier>) -> Self {
        let is_shape = |m: &&Modifier| m.text().starts_with('m') && m.text().contains('k');
        let shape = modifiers.iter().find(is_shape).unwrap().text();
        let numbers: Vec<usize> =
            shape.split(['m', 'n', 'k']).skip(1).map(|number| number.parse().unwrap()).collect();
        let types: Vec<T> = modifiers.iter().filter_map(|m| m.as_type()).collect();
        let (d, a, b, c) = match types[..] {
            [d, c] => (d, T::F16, T::F16, c),
            [d, a, b, c] | [d, a, b, c, _] => (d, a, b, c),
            _ => panic!("{types:?}"),
        };
        let [m, n, k] = numbers[..] else { panic!("{shape}") };
        Self { form, modifiers, shape, m, n, k, d, a, b, c, scale: types.get(4).copied() }
    }

    pub(crate) fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.contains(&modifier)
    }

    pub(crate) fn mnemonic(&self) -> String {
        let mut text = self.form.opcode.to_string();
        for modifier in &self.modifiers {
            write!(text, ".{modifier}").unwrap();
        }
        text
    }

    pub(crate) fn packed(&self) -> bool {
        self.has(Modifier::KindMxf4) || self.has(Modifier::KindMxf4nvf4)
    }

    pub(crate) fn element(&self, ty: T) -> Element {
        Element::new(ty, self.packed())
    }

    fn rounding(&self) -> Rounding {
        let of = [(Modifier::Rz, Rounding::Zero), (Modifier::Rm, Rounding::Down)];
        let of = of.into_iter().chain([(Modifier::Rp, Rounding::Up)]);
        of.into_iter().find(|&(m, _)| self.has(m)).map_or(Rounding::Nearest, |(_, r)| r)
    }
}

/// Every way to fill a row's slots.
pub(crate) fn combinations(form: &'static Form) -> Vec<Vec<Modifier>> {
    let mut all = vec![Vec::new()];
    for slot in &form.slots {
        let mut next = Vec::new();
        for head in &all {
            if slot.optional {
                next.push(head.clone());
            }
            for &choice in &slot.choices {
                next.push(head.iter().copied().chain([choice]).collect());
            }
        }
        all = next;
    }
    all
}

/// A matrix of codes.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    pub(crate) columns: usize,
    pub(crate) codes: Vec<u64>,
}

impl Matrix {
    pub(crate) fn new(rows: usize, columns: usize, mut code: impl FnMut() -> u64) -> Self {
        Self { columns, codes: (0..rows * columns).map(|_| code()).collect() }
    }

    pub(crate) fn at(&self, row: usize, column: usize) -> u64 {
        self.codes[row * self.columns + column]
    }

    pub(crate) fn set(&mut self, row: usize, column: usize, code: u64) {
        self.codes[row * self.columns + column] = code;
    }
}

/// What is wrong with D, element by element: `terms` gives the factors that make up an element.
pub(crate) fn compare(
    case: &Case,
    small: bool,
    c: &Matrix,
    d: &Matrix,
    terms: impl Fn(usize, usize) -> Vec<(Number, Number)>,
) -> Option<String> {
    let (c_element, d_element) = (case.element(case.c), case.element(case.d));
    for row in 0..d.codes.len() / d.columns {
        for column in 0..d.columns {
            let (old, new) = (c.at(row, column), d.at(row, column));
            let terms = terms(row, column);
            let wrong = match d_element {
                Element::Integer { .. } | Element::Bit => {
                    let sum = terms
                        .iter()
                        .fold(c_element.value(old), |sum, (a, b)| sum.plus(&a.times(b)));
                    check_integer(&sum, case.has(Modifier::Satfinite), new as u32)
                }
                Element::Float { format: exact::F64, .. } => {
                    let code = terms.iter().fold(old, |sum, (a, b)| {
                        let exact = a.times(b).plus(&exact::F64.decode(sum));
                        exact::F64.encode(&exact, case.rounding())
                    });
                    let same = if exact::F64.decode(code) == Number::Nan {
                        exact::F64.decode(new) == Number::Nan
                    } else {
                        rank(exact::F64, code) == rank(exact::F64, new)
                    };
                    (!same).then(|| format!("{code:#x}"))
                }
                Element::Float { format, .. } => {
                    let terms: Vec<Number> = std::iter::once(c_element.value(old))
                        .chain(terms.iter().map(|(a, b)| a.times(b)))
                        .collect();
                    let saturate = case.has(Modifier::Satfinite);
                    check_float(format, &terms, small, saturate, new)
                }
            };
            if let Some(wrong) = wrong {
                return Some(format!("D[{row}][{column}] is {new:#x}, not {wrong}"));
            }
        }
    }
    None
}

fn check_integer(sum: &Number, saturate: bool, result: u32) -> Option<String> {
    let Number::Finite { significand, .. } = sum else { panic!("{sum:?}") };
    let sum = i64::try_from(significand.clone()).unwrap();
    let expected = if saturate {
        sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
    } else {
        sum as i32
    };
    (result.cast_signed() != expected).then(|| expected.to_string())
}

/// The sum of `terms` in `format`: to the bit if they are `small`, else within what the
/// documentation promises.
fn check_float(
    format: Format,
    terms: &[Number],
    small: bool,
    saturate: bool,
    result: u64,
) -> Option<String> {
    let sum = terms.iter().fold(Number::zero(), |sum, term| sum.plus(term));
    let greatest = (((1u64 << format.exponent_bits) - 1) << format.mantissa_bits) - 1;
    let code = |number: &Number| {
        let code = format.encode(number, Rounding::Nearest);
        let sign = code & 1 << (format.bits() - 1);
        match (saturate, format.decode(code)) {
            (true, Number::Nan) => 0,
            (true, Number::Infinity(_)) => greatest | sign,
            _ => code,
        }
    };
    if sum == Number::Nan {
        let nan = if saturate { 0 } else { u64::MAX >> (65 - format.bits()) };
        return (result != nan).then(|| format!("NaN {nan:#x}"));
    }
    let error = if small || matches!(sum, Number::Infinity(_)) {
        Number::zero()
    } else {
        let magnitudes = terms.iter().fold(Number::zero(), |sum, term| sum.plus(&term.magnitude()));
        magnitudes.times(&Number::integer(terms.len() as i64)).scaled(-53)
    };
    let low = code(&sum.plus(&error.negated()));
    let high = code(&sum.plus(&error));
    let within = (rank(format, low)..=rank(format, high)).contains(&rank(format, result));
    let is_nan = format.decode(result) == Number::Nan;
    (!within || is_nan).then(|| format!("between {low:#x} and {high:#x}"))
}

/// A fragment: the words of its registers for one lane, from the codes of its elements.
fn pack(container: u32, codes: &[u64]) -> Vec<u32> {
    if container == 64 {
        return codes.iter().flat_map(|&code| [code as u32, (code >> 32) as u32]).collect();
    }
    let per_word = (32 / container) as usize;
    let words = codes.chunks(per_word).map(|codes| {
        codes.iter().rev().fold(0, |word, &code| (u64::from(word) << container | code) as u32)
    });
    words.collect()
}

/// The codes in the words of one lane.
fn unpack(container: u32, words: &[u32]) -> Vec<u64> {
    if container == 64 {
        return words.chunks(2).map(|w| u64::from(w[0]) | u64::from(w[1]) << 32).collect();
    }
    let mask = u64::MAX >> (64 - container);
    let codes =
        |&word: &u32| (0..32 / container).map(move |i| u64::from(word) >> (i * container) & mask);
    words.iter().flat_map(codes).collect()
}

/// A kernel that loads the operands of `case` lane by lane, executes it and stores D.
fn kernel(case: &Case, selector: u32) -> (String, Vec<usize>) {
    let mut sizes = Vec::new();
    let mut loads = String::new();
    let mut operands = Vec::new();
    let wide = case.d == T::F64;
    let mut offset = 0;
    for shape in &case.form.operands {
        let gpucast_ptx_frontend::isa::Count::Exactly(count) = shape.count else {
            // Metadata and scales are words of their own; the selector is a constant.
            if shape.name == "f" {
                operands.push(format!("{selector:#x}"));
                continue;
            }
            writeln!(loads, "ld.global.b32 %{}, [%in+{offset}];", shape.name).unwrap();
            operands.push(format!("%{}", shape.name));
            sizes.push(1);
            offset += 4;
            continue;
        };
        let selectors = shape.name == "ia" || shape.name == "ib";
        let kind = if wide { "b64" } else { "b32" };
        let (load, bytes) = if selectors {
            ("u16", 4)
        } else if wide {
            (kind, 8)
        } else {
            (kind, 4)
        };
        let names: Vec<_> = (0..count).map(|i| format!("%{}{i}", shape.name)).collect();
        operands.push(format!("{{{}}}", names.join(", ")));
        if shape.name == "d" {
            continue;
        }
        for name in names {
            writeln!(loads, "ld.global.{load} {name}, [%in+{offset}];").unwrap();
            offset += bytes;
        }
        sizes.push(usize::from(count) * bytes / 4);
    }
    let results = case.form.operands[0].count;
    let gpucast_ptx_frontend::isa::Count::Exactly(results) = results else { panic!() };
    let bytes = if wide { 8 } else { 4 };
    let mut stores = String::new();
    for i in 0..usize::from(results) {
        let kind = if wide { "b64" } else { "b32" };
        writeln!(stores, "st.global.{kind} [%out+{}], %d{i};", i * bytes).unwrap();
    }
    let (major, minor) = case.form.min_isa;
    let target = case.form.min_target;
    let suffix = if target.specific { "a" } else { "" };
    let kind = if wide { "b64" } else { "b32" };
    let text = format!(
        ".version {major}.{minor}\n.target sm_{}{suffix}\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
         .reg .b64 %in, %out; .reg .u32 %lane;\n\
         .reg .{kind} %a<8>, %b<8>, %c<8>, %d<8>;\n\
         .reg .b32 %e, %sa, %sb; .reg .u16 %ia<2>, %ib<2>;\n\
         ld.param.u64 %in, [in]; ld.param.u64 %out, [out];\n\
         mov.u32 %lane, %tid.x;\n\
         mad.wide.u32 %in, %lane, {offset}, %in;\n\
         mad.wide.u32 %out, %lane, {}, %out;\n\
         {loads}{} {};\n{stores}ret;\n}}\n",
        target.sm,
        usize::from(results) * bytes,
        case.mnemonic(),
        operands.join(", "),
    );
    sizes.push(usize::from(results) * bytes / 4);
    (text, sizes)
}

/// Random sparsity of a row of A: for each chunk its field of metadata, and whether each column is
/// stored as the n-th of the chunk.
struct Chunks {
    fields: Vec<u32>,
    stored: Vec<Vec<usize>>,
}

fn chunks(case: &Case, random: &mut Random) -> Chunks {
    let ordered = case.form.opcode == Opcode::MmaSpOrderedMetadata;
    let length = chunk_length(case);
    let (mut fields, mut stored) = (Vec::new(), Vec::new());
    for _ in 0..case.k / length {
        if length == 2 {
            let second = random.below(2);
            fields.push(if second == 1 { 0b1110 } else { 0b0100 });
            stored.push(vec![second as usize]);
            continue;
        }
        let first = random.below(4);
        let second = (first + 1 + random.below(3)) % 4;
        let (first, second) =
            if ordered { (first.min(second), first.max(second)) } else { (first, second) };
        fields.push((first | second << 2) as u32);
        let positions = [first as usize, second as usize];
        stored.push(if length == 4 {
            positions.to_vec()
        } else {
            positions.iter().flat_map(|p| [2 * p, 2 * p + 1]).collect()
        });
    }
    Chunks { fields, stored }
}

/// Elements among which the metadata chooses.
fn chunk_length(case: &Case) -> usize {
    match case.element(case.a).container() {
        32 => 2,
        4 => 8,
        _ => 4,
    }
}

/// The scale factors of a case, and the words that they come from.
struct Scales {
    blocks: usize,
    /// By row of A or column of B, then block.
    factors: [Vec<Vec<Number>>; 2],
    data: [Vec<u32>; 2],
    byte_id: [u32; 2],
    thread_id: [u32; 2],
}

fn scales(case: &Case, ty: T, random: &mut Random, small: bool) -> Scales {
    let blocks = if case.has(Modifier::ScaleVec4x) {
        4
    } else if case.has(Modifier::ScaleVec2x) || case.has(Modifier::KindMxf4) {
        2
    } else {
        1
    };
    let mut code = || match ty {
        T::Ue8m0 if !small && random.below(60) == 0 => 0xff,
        T::Ue8m0 => 127 - 6 + random.below(12) as u32,
        // The sign bit is padding.
        _ => loop {
            let code = random.below(256) as u32;
            if code & 0x7f != 0x7f || !small && random.below(8) == 0 {
                break code;
            }
        },
    };
    let mut word = || (0..4).fold(0, |word, _| word << 8 | code());
    let data: [Vec<u32>; 2] =
        [(0..32).map(|_| word()).collect(), (0..32).map(|_| word()).collect()];
    let byte_id = [0, 0].map(|_| random.below(4 / blocks as u64) as u32 * blocks as u32);
    let thread_id = [random.below(2) as u32, random.below(4) as u32];
    let value = |word: u32, byte: usize| {
        let code = u64::from(word >> (8 * byte) & 0xff);
        match ty {
            T::Ue8m0 if code == 0xff => Number::Nan,
            T::Ue8m0 => Number::integer(1).scaled(code as i32 - 127),
            _ => exact::E4M3.decode(code & 0x7f),
        }
    };
    let of = |operand: usize, lane: usize| {
        (0..blocks)
            .map(|block| value(data[operand][lane], byte_id[operand] as usize + block))
            .collect()
    };
    let rows = (0..16).map(|row| {
        // The lower thread of the pair has the row of the group, the upper one the other.
        of(0, row % 8 * 4 + 2 * thread_id[0] as usize + usize::from(row >= 8))
    });
    let columns = (0..8).map(|column| of(1, column * 4 + thread_id[1] as usize));
    let factors = [rows.collect(), columns.collect()];
    Scales { blocks, factors, data, byte_id, thread_id }
}

/// Execute a case once; what is wrong with it.
fn run(case: &Case, seed: u64, small: bool) -> Option<String> {
    let mut random = Random::new(seed);
    let (a_element, b_element) = (case.element(case.a), case.element(case.b));
    let (c_element, d_element) = (case.element(case.c), case.element(case.d));
    let sparse = case.form.opcode != Opcode::Mma;
    let computations = if case.shape == "m8n8k4" && case.a == T::F16 { 4 } else { 1 };
    let mut matrix = |element: Element, rows, columns| {
        let rows = rows * computations;
        Matrix::new(rows, columns, || element.random(&mut random, small))
    };
    let mut a = matrix(a_element, case.m, case.k);
    let b = matrix(b_element, case.k, case.n);
    let c = matrix(c_element, case.m, case.n);
    let length = chunk_length(case);
    let sparsity: Vec<Chunks> = (0..case.m).map(|_| chunks(case, &mut random)).collect();
    let dense = a.clone();
    if sparse {
        a.codes.fill(u64::MAX);
        for (row, chunks) in sparsity.iter().enumerate() {
            for (chunk, stored) in chunks.stored.iter().enumerate() {
                for &within in stored {
                    let column = chunk * length + within;
                    a.set(row, column, dense.at(row, column));
                }
            }
        }
    }
    let scales = case.scale.map(|ty| scales(case, ty, &mut random, small));
    let lanes_of_selector = if sparse {
        let members = layout::metadata(case.shape, a_element.container());
        members.iter().map(|&(thread, ..)| thread + 1).max().unwrap()
    } else {
        1
    };
    let selector = random.below(u64::from(4 / lanes_of_selector)) as u32;

    let (text, sizes) = kernel(case, selector);
    keep(&case.mnemonic(), &text);
    // Fragments, lane by lane.
    let mut input = Vec::new();
    for lane in 0..32 {
        let computation = layout::computation(lane) as usize;
        let quads = computations == 4;
        let layouts: Vec<_> =
            case.modifiers.iter().map(|m| m.text()).filter(|&m| m == "row" || m == "col").collect();
        let mut fragment = |element: Element, words: usize, code: &dyn Fn(u32) -> u64| {
            let count = words as u32 * 32 / element.container();
            let codes: Vec<u64> = (0..count).map(code).collect();
            input.extend(pack(element.container(), &codes));
        };
        let wide = a_element.container();
        fragment(a_element, sizes[0], &|i| {
            if quads {
                let (row, column) = layout::a_884(layouts[0], lane, i);
                return a.at(computation * 8 + row as usize, column as usize);
            }
            if !sparse {
                let (row, column) = layout::a(case.shape, wide, lane, i);
                return a.at(row as usize, column as usize);
            }
            let (row, columns) = layout::sparse_a(case.shape, wide, lane, i);
            let per_register = 32 / wide as usize;
            let index = i as usize % per_register;
            let chunk = columns.start as usize / length + index / (length / 2);
            assert!(chunk < columns.end as usize / length);
            let within = sparsity[row as usize].stored[chunk][index % (length / 2)];
            a.at(row as usize, chunk * length + within)
        });
        fragment(b_element, sizes[1], &|i| {
            let (row, column) = if quads {
                layout::b_884(layouts[1], lane, i)
            } else {
                layout::b(case.shape, b_element.container(), lane, i)
            };
            b.at(if quads { computation * 4 } else { 0 } + row as usize, column as usize)
        });
        fragment(c_element, sizes[2], &|i| {
            let (row, column) = if quads {
                layout::c_884(case.c == T::F32, lane, i)
            } else {
                layout::c(case.shape, lane, i)
            };
            c.at(if quads { computation * 8 } else { 0 } + row as usize, column as usize)
        });
        if sparse {
            let mut word = random.next() as u32;
            let first = selector * lanes_of_selector;
            for (thread, lower, chunks, bit) in layout::metadata(case.shape, wide) {
                if first + thread == lane % 4 {
                    for (index, chunk) in chunks.clone().enumerate() {
                        let row = (lane / 4 + lower) as usize;
                        let at = bit + 4 * index as u32;
                        let field = sparsity[row].fields[chunk as usize];
                        word = word & !(15 << at) | field << at;
                    }
                }
            }
            input.push(word);
        }
        if let Some(scales) = &scales {
            for operand in 0..2 {
                let Scales { data, byte_id, thread_id, .. } = scales;
                input.push(data[operand][lane as usize]);
                input.extend([byte_id[operand], thread_id[operand]]);
            }
        }
    }
    let result_words = *sizes.last().unwrap();
    let output = words(&launch(&text, &to_bytes(&input), 32 * result_words * 4));
    let mut d = Matrix::new(case.m * computations, case.n, || u64::MAX);
    for (lane, words) in output.chunks(result_words).enumerate() {
        let lane = lane as u32;
        for (i, code) in unpack(d_element.container(), words).into_iter().enumerate() {
            let (row, column) = if computations == 4 {
                let (row, column) = layout::c_884(case.d == T::F32, lane, i as u32);
                (row + 8 * layout::computation(lane), column)
            } else {
                layout::c(case.shape, lane, i as u32)
            };
            d.set(row as usize, column as usize, code);
        }
    }
    compare(case, small, &c, &d, |row, column| {
        let computation = row / case.m;
        let factors = (0..case.k).filter_map(|k| {
            let is_stored = |chunks: &Chunks| chunks.stored[k / length].contains(&(k % length));
            if sparse && !is_stored(&sparsity[row]) {
                // What is not stored takes no part: it makes no NaN of B's infinities.
                return None;
            }
            let (a, b) = (a.at(row, k), b.at(computation * case.k + k, column));
            if a_element == Element::Bit {
                let bit = if case.has(Modifier::And) { a & b } else { a ^ b };
                return Some((Number::integer(bit as i64), Number::integer(1)));
            }
            let (mut a, mut b) = (a_element.value(a), b_element.value(b));
            if let Some(scales) = &scales {
                let block = k / (case.k / scales.blocks);
                a = a.times(&scales.factors[0][row][block]);
                b = b.times(&scales.factors[1][column][block]);
            }
            Some((a, b))
        });
        factors.collect()
    })
}

/// Combinations that the table's row admits and the manual's table 36 does not.
fn is_refused(case: &Case) -> bool {
    let given = case.modifiers.iter().any(|m| m.text().starts_with("scale_vec"));
    let (two, four) = (case.has(Modifier::ScaleVec2x), case.has(Modifier::ScaleVec4x));
    let ue8m0 = case.scale == Some(T::Ue8m0);
    if case.has(Modifier::KindMxf4) {
        !ue8m0 || four
    } else if case.has(Modifier::KindMxf4nvf4) {
        !given || two && !ue8m0
    } else {
        false
    }
}

#[test]
fn every_mma_of_the_table_multiplies_matrices() {
    let mut problems = Vec::new();
    let mut forms: BTreeMap<&str, usize> = BTreeMap::new();
    let mut count = 0;
    for opcode in [Opcode::Mma, Opcode::MmaSp, Opcode::MmaSpOrderedMetadata] {
        for (_, form) in forms_of(opcode) {
            for modifiers in combinations(form) {
                let case = Case::new(form, modifiers);
                if is_refused(&case) {
                    let (text, _) = kernel(&case, 0);
                    let module = gpucast_ptx_frontend::load(&text).unwrap();
                    let program = Program::new(&module, &text, "k").unwrap();
                    assert!(!program.unsupported().is_empty(), "{}", case.mnemonic());
                    continue;
                }
                *forms.entry(form.text).or_default() += 1;
                for small in [true, false] {
                    count += 1;
                    if let Some(problem) = run(&case, count, small) {
                        problems.push(format!("{} {small}: {problem}", case.mnemonic()));
                    }
                }
            }
            assert!(forms.contains_key(form.text), "{} is never executed", form.text);
        }
    }
    println!("{} forms, {count} executions", forms.len());
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}
