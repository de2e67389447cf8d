//! `wmma.load`, `wmma.mma` and `wmma.store`: the layout of fragments is nobody's business, so every
//! product goes from memory to memory.

use std::collections::BTreeSet;

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Count, Modifier, Opcode, forms_of};

use crate::machine::{Random, keep, launch};
use crate::multiply::{Case, Element, Matrix, combinations, compare};

/// The ways to say where a matrix is: the modifier, and whether that is shared memory.
const SPACES: [(&str, bool); 5] =
    [("", false), (".global", false), ("", true), (".shared", true), (".shared::cta", true)];

/// A matrix in memory.
struct Stored {
    element: Element,
    rows: usize,
    columns: usize,
    column_major: bool,
    /// Distance of rows or columns in elements.
    stride: usize,
    /// First byte.
    offset: usize,
}

impl Stored {
    fn default_stride(&self) -> usize {
        if self.column_major { self.rows } else { self.columns }
    }

    fn bytes(&self) -> usize {
        let instances = if self.column_major { self.columns } else { self.rows };
        (instances * self.stride * self.element.container() as usize).div_ceil(8)
    }

    /// The bits of an element: the first, and how many.
    fn bits(&self, row: usize, column: usize) -> (usize, usize) {
        let (major, minor) = if self.column_major { (column, row) } else { (row, column) };
        let width = self.element.container() as usize;
        (8 * self.offset + (major * self.stride + minor) * width, width)
    }

    fn put(&self, memory: &mut [u8], matrix: &Matrix) {
        for row in 0..self.rows {
            for column in 0..self.columns {
                let (first, width) = self.bits(row, column);
                for bit in 0..width {
                    let at = first + bit;
                    let value = (matrix.at(row, column) >> bit & 1) as u8;
                    memory[at / 8] = memory[at / 8] & !(1 << (at % 8)) | value << (at % 8);
                }
            }
        }
    }

    fn get(&self, memory: &[u8]) -> Matrix {
        let mut matrix = Matrix::new(self.rows, self.columns, || 0);
        for row in 0..self.rows {
            for column in 0..self.columns {
                let (first, width) = self.bits(row, column);
                let bit = |i: usize| u64::from(memory[(first + i) / 8] >> ((first + i) % 8) & 1);
                let code = (0..width).fold(0, |code, i| code | bit(i) << i);
                matrix.set(row, column, code);
            }
        }
        matrix
    }
}

/// Registers of a fragment of `form`'s operand.
fn registers(case: &Case, operand: usize) -> String {
    let shape = &case.form.operands[operand];
    let Count::Exactly(count) = shape.count else { panic!("{}", case.form.text) };
    let names: Vec<_> = (0..count).map(|i| format!("%{}{i}", shape.name)).collect();
    format!("{{{}}}", names.join(", "))
}

/// Run one product; what is wrong with it. `executed` collects the loads and stores.
fn run(
    case: &Case,
    layouts: [bool; 4],
    space: (&str, bool),
    seed: u64,
    executed: &mut BTreeSet<String>,
) -> Option<String> {
    // `.shared::cta` is younger than the need for `.aligned`.
    if space.0 == ".shared::cta" && !case.has(Modifier::Aligned) {
        return None;
    }
    let mut random = Random::new(seed);
    let small = random.below(2) == 0;
    let extents = [(case.m, case.k), (case.k, case.n), (case.m, case.n), (case.m, case.n)];
    let types = [case.a, case.b, case.c, case.d];
    let mut offset = 0;
    let mut stored = Vec::new();
    for (index, ((rows, columns), ty)) in extents.into_iter().zip(types).enumerate() {
        let element = case.element(ty);
        let mut matrix =
            Stored { element, rows, columns, column_major: layouts[index], stride: 0, offset };
        matrix.stride = matrix.default_stride();
        if random.below(2) == 0 {
            matrix.stride += (1 + random.below(3)) as usize * 128 / element.container() as usize;
        }
        offset += matrix.bytes().next_multiple_of(32);
        stored.push(matrix);
    }
    let [a, b, c, d] = &stored[..] else { panic!() };
    let mut fill = |matrix: &Stored| {
        Matrix::new(matrix.rows, matrix.columns, || matrix.element.random(&mut random, small))
    };
    let matrices = [fill(a), fill(b), fill(c)];
    let mut memory: Vec<u8> = (0..offset).map(|i| (i * 37) as u8).collect();
    for (matrix, codes) in stored.iter().zip(&matrices) {
        matrix.put(&mut memory, codes);
    }

    // The result is stored into its place in the same memory, which is then written out.
    let (modifier, shared) = space;
    // Needed from PTX ISA 6.3 on.
    let aligned = if case.has(Modifier::Aligned) { ".aligned" } else { "" };
    let mut transfer = |role: &str, matrix: &Stored, ty: T, operand: usize| {
        let layout = if matrix.column_major { "col" } else { "row" };
        let verb = if role == "d" { "store" } else { "load" };
        let mnemonic = format!(
            "wmma.{verb}.{role}.sync{aligned}.{layout}.{}{modifier}.{}",
            case.shape,
            ty.text()
        );
        let address = format!("[%base+{}]", matrix.offset);
        let registers = registers(case, operand);
        let stride = if matrix.stride == matrix.default_stride() {
            String::new()
        } else if role == "b" {
            format!(", {}", matrix.stride)
        } else {
            ", %stride".to_owned()
        };
        let operands = if role == "d" {
            format!("{address}, {registers}")
        } else {
            format!("{registers}, {address}")
        };
        let text = format!("mov.u32 %stride, {};\n{mnemonic} {operands}{stride};\n", matrix.stride);
        executed.insert(mnemonic);
        text
    };
    let before = transfer("a", a, case.a, 1) + &transfer("b", b, case.b, 2);
    let before = before + &transfer("c", c, case.c, 3);
    let transfer_d = transfer("d", d, case.d, 0);
    let operands: Vec<_> = (0..4).map(|i| registers(case, i)).collect();
    let product = format!("{} {};\n", case.mnemonic(), operands.join(", "));
    let wide = if case.d == T::F64 { "b64" } else { "b32" };
    let base = match space {
        ("", true) => "mov.u64 %base, s; cvta.shared.u64 %base, %base;",
        (_, true) => "mov.u64 %base, s;",
        (_, false) => "mov.u64 %base, %out;",
    };
    let (major, minor) = case.form.min_isa.max(match (modifier, aligned) {
        (".shared::cta", _) => (7, 8),
        (_, "") => (6, 1),
        _ => (6, 3),
    });
    let sm = case.form.min_target.sm;
    let copy = |name: &str, from: &str, to: &str| {
        format!(
            "mov.u32 %i, %lane4;\n{name}: cvt.u64.u32 %at, %i;\n\
             add.u64 %from, %{from}, %at; add.u64 %to, %{to}, %at;\n\
             ld.u32 %word, [%from]; st.u32 [%to], %word;\n\
             add.u32 %i, %i, 128; setp.lt.u32 %p, %i, {offset}; @%p bra {name};\n\
             bar.sync 0;\n"
        )
    };
    let (first, last) = if shared {
        (copy("L0", "in", "gs"), copy("L1", "gs", "out"))
    } else {
        (copy("L0", "in", "out"), String::new())
    };
    let text = format!(
        ".version {major}.{minor}\n.target sm_{sm}\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
         .reg .b64 %in, %out, %base, %at, %from, %to, %gs; .reg .b32 %lane4, %i, %word, %stride;\n\
         .reg .pred %p; .reg .{wide} %a<8>, %b<8>, %c<8>, %d<8>;\n\
         .shared .align 32 .b8 s[{offset}];\n\
         ld.param.u64 %in, [in]; ld.param.u64 %out, [out];\n\
         cvta.to.global.u64 %in, %in; cvta.to.global.u64 %out, %out;\n\
         mov.u32 %lane4, %tid.x; shl.b32 %lane4, %lane4, 2;\n\
         mov.u64 %gs, s; cvta.shared.u64 %gs, %gs;\n\
         {first}{base}\n{before}{product}{transfer_d}bar.sync 0;\n{last}ret;\n}}\n"
    );
    let float_satfinite = case.mnemonic().contains("satfinite") && case.c != T::S32;
    if !(modifier == ".shared::cta" && float_satfinite) {
        keep(&format!("{} {seed}", case.mnemonic()), &text);
    }
    let memory = launch(&text, &memory, offset);
    let result = d.get(&memory);
    let [a, b, c] = &matrices;
    let (a_element, b_element) = (case.element(case.a), case.element(case.b));
    compare(case, small, c, &result, |row, column| {
        let term = |k| {
            let (a, b) = (a.at(row, k), b.at(k, column));
            if a_element == Element::Bit {
                let bit = if case.mnemonic().contains(".and.") { a & b } else { a ^ b };
                return (a_element.value(bit), a_element.value(1));
            }
            (a_element.value(a), b_element.value(b))
        };
        (0..case.k).map(term).collect()
    })
}

#[test]
fn every_wmma_of_the_table_multiplies_matrices_in_memory() {
    let mut problems = Vec::new();
    let mut executed = BTreeSet::new();
    let mut count = 0;
    for (_, form) in forms_of(Opcode::WmmaMma) {
        for modifiers in combinations(form) {
            let case = Case::new(form, modifiers);
            let layouts = case.modifiers.iter().map(|m| m.text());
            let layouts: Vec<bool> =
                layouts.filter(|&m| m == "row" || m == "col").map(|m| m == "col").collect();
            for space in SPACES {
                for accumulators in 0..4 {
                    count += 1;
                    let (c, d) = (accumulators & 1 != 0, accumulators & 2 != 0);
                    let layouts = [layouts[0], layouts[1], c, d];
                    if let Some(problem) = run(&case, layouts, space, count, &mut executed) {
                        let mnemonic = case.mnemonic();
                        problems.push(format!("{mnemonic} {layouts:?} {space:?}: {problem}"));
                    }
                }
            }
        }
    }
    println!("{count} products");
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    for opcode in [Opcode::WmmaLoad, Opcode::WmmaStore] {
        for (_, form) in forms_of(opcode) {
            for modifiers in combinations(form) {
                let text: String = modifiers.iter().map(|m| format!(".{m}")).collect();
                let mnemonic = format!("{opcode}{text}");
                if text.contains(".shared::cta") && !text.contains(".aligned") {
                    continue;
                }
                assert!(executed.contains(&mnemonic), "{mnemonic} is never executed");
            }
        }
    }
}
