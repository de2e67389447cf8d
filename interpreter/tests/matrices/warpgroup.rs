//! `wgmma.mma_async` and `wgmma.mma_async.sp`: every row of the table with operands laid out as the
//! manual's CuTe layouts say (table "Canonical Layouts"), against integers. All values are small
//! integers, so that every sum is exact.

use std::fmt::Write as _;

use gpucast_interpreter::{Access, AccessKind, NoObserver, Observer, Program, Recorder};
use gpucast_ptx_frontend::isa::{Form, Modifier, Opcode, forms_of};
use gpucast_ptx_frontend::types::StateSpace;
use half::{bf16, f16};

use crate::layout;
use crate::machine::{Random, keep, to_bytes, try_launch, words};
use crate::multiply::combinations;

/// Bytes of shared memory.
const SHARED: usize = 48 << 10;
/// Bytes of a row of A, as far as it is stored, and of a column of B where A is not sparse.
const DEPTH: usize = 32;

/// What an element of A or B is; bits are taken by the byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Element {
    F16,
    Bf16,
    Tf32,
    E4m3,
    E5m2,
    S8,
    U8,
    Bits,
    /// A sign, four zeros, eleven bits of magnitude.
    S1z4m11,
}

impl Element {
    fn of(modifier: Modifier) -> Option<Self> {
        Some(match modifier.text() {
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "tf32" => Self::Tf32,
            "e4m3" => Self::E4m3,
            "e5m2" => Self::E5m2,
            "s8" => Self::S8,
            "u8" => Self::U8,
            "b1" => Self::Bits,
            _ => return None,
        })
    }

    fn bytes(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 | Self::S1z4m11 => 2,
            Self::Tf32 => 4,
            _ => 1,
        }
    }

    /// A value and its bytes.
    fn random(self, random: &mut Random) -> (i64, Vec<u8>) {
        let small = random.below(9) as i64 - 4;
        let any = random.next() as u8;
        match self {
            Self::F16 => (small, f16::from_f64(small as f64).to_le_bytes().to_vec()),
            Self::Bf16 => (small, bf16::from_f64(small as f64).to_le_bytes().to_vec()),
            Self::Tf32 => {
                // The lower 13 bits have no effect.
                let noise = random.below(1 << 13) as u32;
                (small, ((small as f32).to_bits() | noise).to_le_bytes().to_vec())
            }
            Self::E4m3 | Self::E5m2 => {
                let codes = if self == Self::E4m3 {
                    [0, 0x38, 0x40, 0x44, 0x48]
                } else {
                    [0, 0x3c, 0x40, 0x42, 0x44]
                };
                let sign = if small < 0 { 0x80 } else { 0 };
                (small, vec![codes[small.unsigned_abs() as usize] | sign])
            }
            Self::S1z4m11 => {
                let (magnitude, sign) = (random.below(1 << 11), random.below(2));
                let bytes = ((sign << 15 | magnitude) as u16).to_le_bytes().to_vec();
                (magnitude as i64 * [1, -1][sign as usize], bytes)
            }
            Self::S8 => (i64::from(any as i8), vec![any]),
            Self::U8 | Self::Bits => (i64::from(any), vec![any]),
        }
    }

    fn product(self, a: i64, b: i64) -> i64 {
        if self == Self::Bits { (a & b).count_ones().into() } else { a * b }
    }
}

/// A matrix of `rows` rows (or columns) of `bytes` bytes.
pub(crate) struct Matrix {
    element: Element,
    bytes: usize,
    values: Vec<(i64, Vec<u8>)>,
}

impl Matrix {
    pub(crate) fn new(element: Element, rows: usize, bytes: usize, random: &mut Random) -> Self {
        let count = rows * bytes / element.bytes();
        Self { element, bytes, values: (0..count).map(|_| element.random(random)).collect() }
    }

    pub(crate) fn depth(&self) -> usize {
        self.bytes / self.element.bytes()
    }

    pub(crate) fn at(&self, mn: usize, k: usize) -> &(i64, Vec<u8>) {
        &self.values[mn * self.depth() + k]
    }
}

/// The offset of a coordinate in one mode of a CuTe layout: `shape` and `stride` from the left.
fn mode(shape: &[usize], stride: &[usize], mut coordinate: usize) -> usize {
    let mut offset = 0;
    for (at, &stride) in stride.iter().enumerate() {
        let here = match shape.get(at) {
            Some(&extent) => coordinate % extent,
            None => coordinate,
        };
        offset += here * stride;
        coordinate /= shape.get(at).copied().unwrap_or(1);
    }
    offset
}

/// CuTe's `Swizzle<bits, 4, 3>`.
fn swizzle(bits: u32, offset: usize) -> usize {
    offset ^ (offset & ((1 << bits) - 1) << 7) >> 3
}

/// Lay `matrix` of `rows` rows out in `memory` from about `from` on, and count each of its bytes in
/// `used`; answers its descriptor.
pub(crate) fn place(
    matrix: &Matrix,
    rows: usize,
    transposed: bool,
    (memory, used): (&mut [u8], &mut [u32]),
    from: usize,
    random: &mut Random,
) -> u64 {
    let size = matrix.element.bytes();
    let per_row = 16 / size;
    // A swizzle of at least as many bytes as lie along K, or none.
    let bits = loop {
        let bits = random.below(4) as u32;
        if transposed || bits == 0 || 16 << bits >= matrix.bytes {
            break bits;
        }
    };
    let width = 1usize << bits;
    // Blocks of eight rows of 16 bytes, or of the swizzle's bytes, along M or N and along K.
    let block = 128 * width;
    let along_mn = if transposed { rows.div_ceil(per_row * width) } else { rows / 8 };
    let along_k = match (transposed, bits) {
        (true, _) => matrix.depth() / 8,
        (false, 0) => matrix.bytes / 16,
        _ => 1,
    };
    let k_first = random.below(2) == 0;
    let (mn_stride, k_stride) =
        if k_first { (block * along_k, block) } else { (block, block * along_mn) };
    let (leading, stride) = match (transposed, bits) {
        (false, _) => (k_stride, mn_stride),
        (true, 0) => (k_stride, mn_stride),
        (true, _) => (mn_stride, k_stride),
    };
    // Patterns begin at multiples of 128; where that is none of their size, the base offset says
    // so.
    let pattern =
        from + if bits == 0 { 16 * random.below(8) } else { 128 * random.below(8) } as usize;
    // A part of longer rows: a multiple of what an instruction consumes.
    let inside = if transposed || bits == 0 {
        0
    } else {
        matrix.bytes * random.below((16 * width / matrix.bytes) as u64) as usize
    };
    let (lbo, sbo, t) = (leading / size, stride / size, per_row);
    for mn in 0..rows {
        for k in 0..matrix.depth() {
            let offset = match (transposed, bits) {
                (true, 0) => mode(&[t, 1], &[1, t, sbo], mn) + mode(&[8], &[t, lbo], k),
                (true, _) => mode(&[t, width], &[1, t, lbo], mn) + mode(&[8], &[width * t, sbo], k),
                (false, 0) => mode(&[8], &[t, sbo], mn) + mode(&[t], &[1, lbo], k),
                (false, _) => mode(&[8], &[width * t, sbo], mn) + mode(&[t], &[1, t], k),
            };
            let at = pattern + swizzle(bits, inside + offset * size);
            memory[at..at + size].copy_from_slice(&matrix.at(mn, k).1);
            used[at..at + size].iter_mut().for_each(|count| *count += 1);
        }
    }
    let field = |bytes: usize| (bytes as u64 & 0x3_ffff) >> 4;
    let code = [0, 3, 2, 1][bits as usize];
    let base = if bits == 0 { 0 } else { (pattern as u64 >> 7) & 7 };
    field(pattern + inside) | field(leading) << 16 | field(stride) << 32 | base << 49 | code << 62
}

/// What one CTA loads from shared memory: how often each byte, and in how many accesses.
struct Reads {
    bytes: Vec<u32>,
    accesses: u32,
    requests: u32,
}

impl Default for Reads {
    fn default() -> Self {
        Self { bytes: vec![0; SHARED], accesses: 0, requests: 0 }
    }
}

impl Recorder for Reads {
    fn block(&mut self, _warp: u32, _block: u32, _mask: u32) {}

    fn guarded_lanes(&mut self, _lanes: &[u64]) {}

    fn branch(&mut self, _instruction: u32, _active: u32, _taken: u32) {}

    fn access(&mut self, access: &Access<'_>) {
        if (access.space, access.kind) != (StateSpace::Shared, AccessKind::Load) {
            return;
        }
        self.accesses += 1;
        self.requests += u32::from(!access.continues);
        for lane in (0..32).filter(|lane| access.mask >> lane & 1 != 0) {
            let at = access.addresses[lane] as usize;
            self.bytes[at..at + access.bytes_per_lane as usize].iter_mut().for_each(|n| *n += 1);
        }
    }
}

impl Observer for Reads {
    type Recorder = Self;

    fn fresh(&self) -> Self {
        Self::default()
    }

    fn recorder(&self, _program: &Program) -> Self {
        Self::default()
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

/// The texts of an instruction's operands beyond the matrices, and what they mean.
struct Options {
    scale_d: bool,
    negate: [bool; 2],
    transposed: [bool; 2],
    text: String,
}

impl Options {
    fn new(form: &Form, in_registers: bool, selector: u64, random: &mut Random) -> Self {
        let has = |name: &str| form.text.contains(name);
        let mut flip = |possible: bool| possible && random.below(2) == 0;
        let scale_d = flip(true);
        let negate = [flip(has("#ia")), flip(has("#ib"))];
        let transposed = [flip(has("#ta") && !in_registers), flip(has("#tb"))];
        let mut text = match form.opcode {
            Opcode::WgmmaMmaAsyncSp => format!("%e, {selector}, %p"),
            _ => "%p".to_owned(),
        };
        for (present, negated) in [has("#ia"), has("#ib")].into_iter().zip(negate) {
            text += match (present, negated) {
                (false, _) => "",
                (true, false) => ", 1",
                (true, true) => ", -1",
            };
        }
        for (present, transposed) in [has("#ta"), has("#tb")].into_iter().zip(transposed) {
            text += match (present, transposed) {
                (false, _) => "",
                (true, false) => ", 0",
                (true, true) => ", 1",
            };
        }
        Self { scale_d, negate, transposed, text }
    }
}

/// How the accumulator's registers hold its elements.
#[derive(Clone, Copy, PartialEq)]
enum Sum {
    F16,
    F32,
    S32 { saturate: bool },
}

impl Sum {
    fn random(self, random: &mut Random) -> i64 {
        match self {
            Self::F16 | Self::F32 => random.below(129) as i64 - 64,
            Self::S32 { .. } => {
                let any = i64::from(random.next() as i32);
                if random.below(4) == 0 { i64::from(i32::MAX) - any.abs() % 5000 } else { any }
            }
        }
    }

    fn encode(self, value: i64) -> u32 {
        match self {
            Self::F16 => f16::from_f64(value as f64).to_bits().into(),
            Self::F32 => (value as f32).to_bits(),
            Self::S32 { saturate: true } => {
                value.clamp(i32::MIN.into(), i32::MAX.into()) as i32 as u32
            }
            Self::S32 { saturate: false } => value as u32,
        }
    }
}

/// Row and column of element `i` of the accumulator in thread `t` (figures 152 to 158).
fn accumulator_place(t: usize, i: usize) -> (usize, usize) {
    let (warp, lane) = (t / 32, t % 32);
    (16 * warp + lane / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (lane % 4) + i % 2)
}

/// The registers of all threads' elements of D.
fn accumulator(sum: Sum, n: usize, value: impl Fn(usize, usize) -> i64) -> Vec<u32> {
    let mut registers = Vec::new();
    for t in 0..128 {
        let elements = (0..n / 2).map(|i| {
            let (row, column) = accumulator_place(t, i);
            sum.encode(value(row, column))
        });
        let elements: Vec<u32> = elements.collect();
        match sum {
            Sum::F16 => registers.extend(elements.chunks(2).map(|pair| pair[0] | pair[1] << 16)),
            _ => registers.extend(elements),
        }
    }
    registers
}

/// The registers of all threads' elements of A (figures 151 to 157).
fn a_registers(a: &Matrix) -> Vec<u32> {
    let per_register = 4 / a.element.bytes();
    let mut registers = Vec::new();
    for t in 0..128 {
        for r in 0..4 {
            let (warp, lane) = (t / 32, t % 32);
            let row = 16 * warp + lane / 4 + 8 * (r % 2);
            let first = per_register * (lane % 4) + 4 * per_register * (r / 2);
            let bytes: Vec<u8> =
                (0..per_register).flat_map(|i| a.at(row, first + i).1.clone()).collect();
            registers.push(u32::from_le_bytes(bytes.try_into().unwrap()));
        }
    }
    registers
}

/// Which columns the stored elements of a sparse A stand for, and the metadata that says so.
struct Sparsity {
    selector: u64,
    /// By row and stored element.
    columns: Vec<usize>,
    /// By thread.
    registers: Vec<u32>,
}

fn sparsity(a: &Matrix, random: &mut Random) -> Sparsity {
    let depth = a.depth();
    let bits = 8 * a.element.bytes() as u32;
    // As of the sparse `mma` of the same type and depth, by each warp.
    let members = layout::metadata(["m16n8k64", "m16n8k32", "m16n8k16"][bits as usize / 16], bits);
    let lanes = 1 + members.iter().map(|&(lane, ..)| lane).max().unwrap();
    let selector = random.below(u64::from(4 / lanes));
    let first = selector as u32 * lanes;
    let (mut columns, mut fields) = (Vec::new(), Vec::new());
    for _ in 0..64 {
        if bits == 32 {
            for chunk in 0..depth {
                let second = random.below(2);
                fields.push(if second == 1 { 0b1110 } else { 0b0100 });
                columns.push(2 * chunk + second as usize);
            }
            continue;
        }
        for chunk in 0..depth / 2 {
            let lower = random.below(3);
            let upper = lower + 1 + random.below(3 - lower);
            fields.push((lower | upper << 2) as u32);
            columns.extend([4 * chunk + lower as usize, 4 * chunk + upper as usize]);
        }
    }
    let chunks = fields.len() / 64;
    let mut registers = Vec::new();
    for t in 0..128 {
        let (warp, lane) = (t / 32, t % 32);
        let mut word = random.next() as u32;
        for (member, lower, range, bit) in members {
            if first + member == lane % 4 {
                for (index, chunk) in range.clone().enumerate() {
                    let row = (16 * warp + lane / 4 + lower) as usize;
                    let at = bit + 4 * index as u32;
                    word = word & !(15 << at) | fields[row * chunks + chunk as usize] << at;
                }
            }
        }
        registers.push(word);
    }
    Sparsity { selector, columns, registers }
}

fn check(form: &Form, modifiers: &[Modifier], n: usize, random: &mut Random) {
    let mut elements = modifiers.iter().rev().filter_map(|&m| Element::of(m));
    let (b_element, a_element) = (elements.next().unwrap(), elements.next().unwrap());
    let has = |text: &str| modifiers.iter().any(|m| m.text() == text);
    let sum = match () {
        () if has("s32") => Sum::S32 { saturate: has("satfinite") },
        () if has("f32") => Sum::F32,
        () => Sum::F16,
    };
    let in_registers = form.text.contains("a:b32*4");
    let a = Matrix::new(a_element, 64, DEPTH, random);
    let sparse = form.opcode == Opcode::WgmmaMmaAsyncSp;
    let b = Matrix::new(b_element, n, if sparse { 2 * DEPTH } else { DEPTH }, random);
    let sparsity = sparse.then(|| sparsity(&a, random));
    let selector = sparsity.as_ref().map_or(0, |sparsity| sparsity.selector);
    let options = Options::new(form, in_registers, selector, random);
    let mut shared = vec![0; SHARED];
    let mut used = vec![0; SHARED];
    let memory = (&mut shared[..], &mut used[..]);
    let a_descriptor = place(&a, 64, options.transposed[0], memory, 0, random);
    if in_registers {
        used.fill(0);
    }
    let memory = (&mut shared[..], &mut used[..]);
    let b_descriptor = place(&b, n, options.transposed[1], memory, 10 << 10, random);
    let before: Vec<i64> = (0..64 * n).map(|_| sum.random(random)).collect();
    let before = |row: usize, column: usize| before[row * n + column];
    let d = accumulator(sum, n, before);
    let each = d.len() / 128;
    let sign = if options.negate[0] == options.negate[1] { 1 } else { -1 };
    let wanted = accumulator(sum, n, |row, column| {
        let terms = (0..a.depth()).map(|k| {
            let of_b = match &sparsity {
                Some(sparsity) => sparsity.columns[row * a.depth() + k],
                None => k,
            };
            a_element.product(a.at(row, k).0, b.at(column, of_b).0) * sign
        });
        terms.sum::<i64>() + if options.scale_d { before(row, column) } else { 0 }
    });

    let mut name = form.opcode.to_string();
    for modifier in modifiers {
        write!(name, ".{modifier}").unwrap();
    }
    let (major, minor) = form.min_isa;
    let registers = |name: &str, count: usize| {
        let names: Vec<_> = (0..count).map(|i| format!("%{name}{i}")).collect();
        format!("{{{}}}", names.join(", "))
    };
    let a_operand = if in_registers { registers("a", 4) } else { "%da".to_owned() };
    let mut text = format!(
        ".version {major}.{minor}\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
         .reg .b64 %in, %out, %at, %da, %db; .reg .b32 %i, %t, %s, %word, %e; .reg .pred %p;\n\
         .reg .b32 %a<4>, %d<{each}>;\n.shared .align 1024 .b8 s[{SHARED}];\n\
         ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x;\n\
         shl.b32 %i, %t, 2;\n\
         L: cvt.u64.u32 %at, %i; add.u64 %at, %at, %in; ld.global.u32 %word, [%at];\n\
         mov.u32 %s, s; add.u32 %s, %s, %i; st.shared.u32 [%s], %word;\n\
         add.u32 %i, %i, 512; setp.lt.u32 %p, %i, {SHARED}; @%p bra L; bar.sync 0;\n\
         mad.wide.u32 %at, %t, 16, %in;\n"
    );
    for i in 0..4 {
        writeln!(text, "ld.global.b32 %a{i}, [%at+{}];", SHARED + 4 * i).unwrap();
    }
    writeln!(text, "mad.wide.u32 %at, %t, 4, %in; ld.global.b32 %e, [%at+{}];", SHARED + 2048)
        .unwrap();
    writeln!(text, "mad.wide.u32 %at, %t, {}, %in;", 4 * each).unwrap();
    for i in 0..each {
        writeln!(text, "ld.global.b32 %d{i}, [%at+{}];", SHARED + 2560 + 4 * i).unwrap();
    }
    write!(
        text,
        "mov.b64 %da, {a_descriptor:#x}; mov.b64 %db, {b_descriptor:#x};\n\
         setp.eq.u32 %p, {}, 1; wgmma.fence.sync.aligned;\n\
         {name} {}, {a_operand}, %db, {};\n\
         wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n\
         mad.wide.u32 %at, %t, {}, %out;\n",
        u32::from(options.scale_d),
        registers("d", each),
        options.text,
        4 * each,
    )
    .unwrap();
    for i in 0..each {
        writeln!(text, "st.global.b32 [%at+{}], %d{i};", 4 * i).unwrap();
    }
    text += "ret; }\n";
    keep(&format!("{name}_{in_registers}"), &text);
    let metadata = sparsity.map_or(vec![0; 128], |sparsity| sparsity.registers);
    let input = [shared, to_bytes(&a_registers(&a)), to_bytes(&metadata), to_bytes(&d)].concat();
    let mut reads = Reads::default();
    let result = try_launch(&text, 128, &input, 4 * d.len(), &mut reads);
    // The four warps together read every byte of A and B once, in as few accesses as there can be.
    assert!(reads.bytes == used, "{name}, A {a_descriptor:#x}, B {b_descriptor:#x}");
    let total = used.iter().sum::<u32>() / 16;
    let of_a = if in_registers { 0 } else { 128 };
    let of_b = (0..4).map(|warp| ((total - of_a) / 8 + 3 - warp) / 4 * 8);
    let accesses: u32 = of_b.map(|of_b| (of_a / 4 + of_b).div_ceil(32)).sum();
    assert_eq!(reads.accesses, accesses, "{name}");
    assert_eq!(reads.requests, if in_registers { (total / 8).min(4) } else { 4 }, "{name}");
    let result = words(&result.unwrap_or_else(|error| panic!("{error}\n{text}")));
    for (at, (&got, &wanted)) in result.iter().zip(&wanted).enumerate() {
        assert_eq!(
            got,
            wanted,
            "{name}, A {a_operand} {a_descriptor:#x}, B {b_descriptor:#x}, {}: register {} of \
             thread {}",
            options.text,
            at % each,
            at / each
        );
    }
}

#[test]
fn every_wgmma_of_the_table_multiplies_what_the_layouts_say() {
    let mut random = Random::new(9);
    let dense = forms_of(Opcode::WgmmaMmaAsync);
    for (_, form) in dense.chain(forms_of(Opcode::WgmmaMmaAsyncSp)) {
        for modifiers in combinations(form) {
            let n = modifiers.iter().find_map(|modifier| {
                modifier.text().strip_prefix("m64n")?.split_once('k')?.0.parse().ok()
            });
            // Small ones, one of several swizzle patterns, and the largest of all types.
            let n: usize = n.unwrap();
            let repeats = match n {
                8 | 64 => 6,
                16 | 24 | 96 | 224 | 256 => 2,
                _ => continue,
            };
            for _ in 0..repeats {
                check(form, &modifiers, n, &mut random);
            }
        }
    }
}

/// The fault of an `m64n8k16` of halves with these operands, or of an `m64n8k32` with metadata.
fn fault(a: &str, b: &str, prepare: &str, metadata: Option<u32>) -> String {
    let (sparse, k, extra) = match metadata {
        Some(metadata) => (".sp", 32, format!("{metadata:#x}, 1, ")),
        None => ("", 16, String::new()),
    };
    let text = format!(
        ".version 8.2\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
         .reg .b64 %a, %b; .reg .b32 %d<4>, %t; .reg .pred %p;\n\
         .shared .align 1024 .b8 s[4096]; mov.u32 %t, %tid.x; mov.b64 %a, {a}; mov.b64 %b, {b};\n\
         setp.eq.u32 %p, 0, 0; {prepare}\n\
         wgmma.mma_async{sparse}.sync.aligned.m64n8k{k}.f32.f16.f16 {{%d0, %d1, %d2, %d3}}, %a, %b, \
         {extra}%p, 1, 1, 0, 0;\nret; }}\n"
    );
    match try_launch(&text, 128, &[], 4, &mut NoObserver) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("no fault"),
    }
}

#[test]
fn operands_that_have_no_meaning_are_faults() {
    // Strides of 256 and 128 bytes.
    let fine = "0x0000001000080000";
    for (a, b, prepare, said) in [
        (fine, "0x00000010000800ff", "", "out-of-bounds load of 16 bytes at shared address 0x1070"),
        (fine, fine, "cvt.u64.u32 %b, %t;", "a matrix descriptor that differs between lanes"),
        (fine, fine, "setp.lt.u32 %p, %t, 40;", "a scale-d that differs between lanes"),
    ] {
        let got = fault(a, b, prepare, None);
        assert!(got.contains(said), "{got}");
    }
    let narrow = "0xc000001000080000";
    for (b, metadata, said) in [
        (narrow, 0x4444_4444, "a swizzle of fewer bytes than the instruction takes of each column"),
        (fine, 0x4444_4454, "metadata"),
    ] {
        let got = fault(fine, b, "", Some(metadata));
        assert!(got.contains(said), "{got}");
    }
}
