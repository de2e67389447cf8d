//! Random kernels that compute with their CTA's place: guards at edges, divisions, wrap-around,
//! strides of either sign, loops in strides of the grid, in one to three dimensions.

use std::cell::RefCell;
use std::fmt::Write as _;

use gpucast_interpreter::Options;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::slices::{Buffer, Case, Planned, Value};

/// Cases of a run of the tests; `GPUCAST_CLASS_CASES` asks for others.
const CASES: u32 = 150;
/// 32-bit registers that statements share.
const REGISTERS: u8 = 8;
/// 64-bit registers.
const WIDE: u8 = 3;
const PREDICATES: u8 = 2;

/// A statement of a random kernel. Numbers name registers.
#[derive(Clone, Debug)]
enum Statement {
    Binary {
        operation: u8,
        d: u8,
        a: u8,
        b: u8,
    },
    WithConstant {
        operation: u8,
        d: u8,
        a: u8,
        value: u8,
    },
    Multiply {
        d: u8,
        a: u8,
        b: u8,
        c: u8,
    },
    Unary {
        operation: u8,
        d: u8,
        a: u8,
    },
    Special {
        d: u8,
        which: u8,
    },
    Wide {
        operation: u8,
        d: u8,
        a: u8,
        b: u8,
        e: u8,
    },
    Compare {
        p: u8,
        how: u8,
        a: u8,
        b: u8,
    },
    CompareConstant {
        p: u8,
        how: u8,
        a: u8,
        value: i16,
    },
    CompareWide {
        p: u8,
        how: u8,
        a: u8,
        b: u8,
    },
    Select {
        d: u8,
        a: u8,
        b: u8,
        p: u8,
    },
    Access {
        index: u8,
        scale: u8,
        kind: u8,
        generic: bool,
    },
    AccessInside {
        index: u8,
        stores: bool,
    },
    Shared {
        d: u8,
        index: u8,
        stores: bool,
    },
    Shuffle {
        d: u8,
        a: u8,
        lane: u8,
    },
    Guarded {
        p: u8,
        negated: bool,
        inner: Box<Statement>,
    },
    If {
        p: u8,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    Loop {
        count: u8,
        body: Vec<Statement>,
    },
    /// `for (i = a; i < limit; i += b)`, a few times at most.
    Stride {
        d: u8,
        a: u8,
        b: u8,
        limit: u8,
        body: Vec<Statement>,
    },
    Exit {
        p: u8,
    },
}

fn r() -> impl Strategy<Value = u8> {
    0..REGISTERS
}

fn q() -> impl Strategy<Value = u8> {
    0..WIDE
}

fn p() -> impl Strategy<Value = u8> {
    0..PREDICATES
}

fn simple() -> impl Strategy<Value = Statement> {
    use Statement as S;
    prop_oneof![
        10 => (0..12_u8, r(), r(), r())
            .prop_map(|(operation, d, a, b)| S::Binary { operation, d, a, b }),
        14 => (0..12_u8, r(), r(), any::<u8>())
            .prop_map(|(operation, d, a, value)| S::WithConstant { operation, d, a, value }),
        10 => (r(), r(), r(), r()).prop_map(|(d, a, b, c)| S::Multiply { d, a, b, c }),
        2 => (0..3_u8, r(), r()).prop_map(|(operation, d, a)| S::Unary { operation, d, a }),
        10 => (r(), 0..9_u8).prop_map(|(d, which)| S::Special { d, which }),
        8 => (0..12_u8, q(), q(), q(), r())
            .prop_map(|(operation, d, a, b, e)| S::Wide { operation, d, a, b, e }),
        8 => (p(), 0..6_u8, r(), r()).prop_map(|(p, how, a, b)| S::Compare { p, how, a, b }),
        8 => (p(), 0..6_u8, r(), any::<i16>())
            .prop_map(|(p, how, a, value)| S::CompareConstant { p, how, a, value }),
        2 => (p(), 0..6_u8, q(), q())
            .prop_map(|(p, how, a, b)| S::CompareWide { p, how, a, b }),
        4 => (r(), r(), r(), p()).prop_map(|(d, a, b, p)| S::Select { d, a, b, p }),
        14 => (r(), 0..4_u8, 0..3_u8, prop::bool::weighted(0.2))
            .prop_map(|(index, scale, kind, generic)| S::Access { index, scale, kind, generic }),
        3 => (r(), any::<bool>()).prop_map(|(index, stores)| S::AccessInside { index, stores }),
        2 => (r(), r(), any::<bool>())
            .prop_map(|(d, index, stores)| S::Shared { d, index, stores }),
        2 => (r(), r(), 0..32_u8).prop_map(|(d, a, lane)| S::Shuffle { d, a, lane }),
    ]
}

fn statement() -> impl Strategy<Value = Statement> {
    use Statement as S;
    let leaf = prop_oneof![
        60 => simple(),
        10 => (p(), any::<bool>(), simple()).prop_map(|(p, negated, inner)| {
            S::Guarded { p, negated, inner: Box::new(inner) }
        }),
        2 => p().prop_map(|p| S::Exit { p }),
    ];
    leaf.prop_recursive(2, 12, 4, move |inner| {
        let some = || prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            3 => (p(), some(), prop::collection::vec(inner.clone(), 0..3))
                .prop_map(|(p, then, otherwise)| S::If { p, then, otherwise }),
            2 => (r(), some()).prop_map(|(count, body)| S::Loop { count, body }),
            2 => (r(), r(), r(), r(), some())
                .prop_map(|(d, a, b, limit, body)| S::Stride { d, a, b, limit, body }),
        ]
    })
}

const HOW: [&str; 6] = ["lt.u32", "le.s32", "eq.u32", "ge.s32", "ne.s32", "gt.u32"];

/// Writes a kernel's text.
#[derive(Default)]
struct Writer {
    text: String,
    labels: u32,
}

impl Writer {
    fn line(&mut self, guard: &str, line: &str) {
        writeln!(self.text, "{guard} {line};").unwrap();
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            self.statement(statement, "");
        }
    }

    fn statement(&mut self, statement: &Statement, guard: &str) {
        use Statement as S;
        match statement {
            S::Binary { operation, d, a, b } => {
                let operation = [
                    "add.u32",
                    "sub.s32",
                    "mul.lo.u32",
                    "and.b32",
                    "or.b32",
                    "xor.b32",
                    "min.u32",
                    "max.s32",
                    "min.s32",
                    "shl.b32",
                    "shr.u32",
                    "max.u32",
                ][usize::from(*operation)];
                self.line(guard, &format!("{operation} %r{d}, %r{a}, %r{b}"));
            }
            S::WithConstant { operation, d, a, value } => {
                let small = value % 9;
                let positive = u32::from(*value) % 21 + 1;
                let magic = 2_863_311_531_u32.rotate_left(u32::from(*value));
                let (operation, constant) = match operation {
                    0 => ("add.s32", i64::from(*value) - 128),
                    1 => ("mul.lo.s32", i64::from(*value) - 128),
                    2 => ("shl.b32", i64::from(small)),
                    3 => ("shr.u32", i64::from(small)),
                    4 => ("shr.s32", i64::from(small)),
                    5 => ("and.b32", (1 << small) - 1),
                    6 => ("and.b32", -(1 << small)),
                    7 => ("or.b32", (1 << small) - 1),
                    8 => ("div.u32", i64::from(positive)),
                    9 => ("rem.u32", i64::from(positive)),
                    10 => ("div.s32", i64::from(positive)),
                    _ => ("mul.hi.u32", i64::from(magic)),
                };
                self.line(guard, &format!("{operation} %r{d}, %r{a}, {constant}"));
            }
            S::Multiply { d, a, b, c } => {
                self.line(guard, &format!("mad.lo.s32 %r{d}, %r{a}, %r{b}, %r{c}"));
            }
            S::Unary { operation, d, a } => {
                let operation = ["neg.s32", "not.b32", "abs.s32"][usize::from(*operation)];
                self.line(guard, &format!("{operation} %r{d}, %r{a}"));
            }
            S::Special { d, which } => {
                let name = [
                    "tid.x", "ctaid.x", "ctaid.y", "ctaid.z", "ntid.x", "nctaid.x", "tid.y",
                    "ctaid.x", "laneid",
                ][usize::from(*which)];
                self.line(guard, &format!("mov.u32 %r{d}, %{name}"));
            }
            S::Wide { operation, d, a, b, e } => {
                let line = match operation {
                    0 => format!("cvt.u64.u32 %q{d}, %r{e}"),
                    1 => format!("cvt.s64.s32 %q{d}, %r{e}"),
                    2 => format!("mul.wide.u32 %q{d}, %r{e}, %r{a}"),
                    3 => format!("mul.wide.s32 %q{d}, %r{e}, %r{b}"),
                    4 => format!("mad.wide.s32 %q{d}, %r{e}, %r{a}, %q{b}"),
                    5 => format!("add.s64 %q{d}, %q{a}, %q{b}"),
                    6 => format!("sub.s64 %q{d}, %q{a}, %q{b}"),
                    7 => format!("shr.u64 %q{d}, %q{a}, 32"),
                    8 => format!("shl.b64 %q{d}, %q{a}, 2"),
                    9 => format!("mul.lo.s64 %q{d}, %q{a}, %q{b}"),
                    10 => format!("and.b64 %q{d}, %q{a}, 4294967295"),
                    _ => format!("cvt.u32.u64 %r{e}, %q{a}"),
                };
                self.line(guard, &line);
            }
            S::Compare { p, how, a, b } => {
                let how = HOW[usize::from(*how)];
                self.line(guard, &format!("setp.{how} %p{p}, %r{a}, %r{b}"));
            }
            S::CompareConstant { p, how, a, value } => {
                let how = HOW[usize::from(*how)];
                self.line(guard, &format!("setp.{how} %p{p}, %r{a}, {}", value % 300));
            }
            S::CompareWide { p, how, a, b } => {
                let how = HOW[usize::from(*how)].replace("32", "64");
                self.line(guard, &format!("setp.{how} %p{p}, %q{a}, %q{b}"));
            }
            S::Select { d, a, b, p } => {
                self.line(guard, &format!("selp.b32 %r{d}, %r{a}, %r{b}, %p{p}"));
            }
            S::Access { index, scale, kind, generic } => {
                let bytes = 1 << scale;
                self.line("", &format!("mul.wide.s32 %at, %r{index}, {bytes}"));
                self.line("", "add.s64 %at, %at, %middle");
                let space = if *generic { "" } else { ".global" };
                let bits = 8 * bytes;
                let line = match kind {
                    0 => format!("ld{space}.b{bits} %data{bits}, [%at]"),
                    1 => format!("st{space}.b{bits} [%at], %data{bits}"),
                    _ => format!("ld{space}.b{bits} %data{bits}, [%at+{}]", 8 * bytes),
                };
                self.line(guard, &line);
            }
            S::AccessInside { index, stores } => {
                // Guarded as kernels do it: nothing happens beyond the end.
                self.line("", &format!("setp.lt.u32 %inside, %r{index}, 1000"));
                self.line("", &format!("mul.wide.u32 %at, %r{index}, 4"));
                self.line("", "add.s64 %at, %at, %small");
                let line = match stores {
                    true => "st.global.b32 [%at], %data32",
                    false => "ld.global.b32 %data32, [%at]",
                };
                self.line("@%inside", line);
            }
            S::Shared { d, index, stores } => {
                self.line("", &format!("and.b32 %t, %r{index}, 31"));
                self.line("", "shl.b32 %t, %t, 2");
                self.line("", "mov.u32 %base, tile");
                self.line("", "add.u32 %t, %t, %base");
                let line = match stores {
                    true => format!("st.shared.b32 [%t], %r{d}"),
                    false => format!("ld.shared.b32 %r{d}, [%t]"),
                };
                self.line(guard, &line);
            }
            S::Shuffle { d, a, lane } => {
                self.line(guard, "activemask.b32 %t");
                self.line(guard, &format!("shfl.sync.idx.b32 %r{d}, %r{a}, {lane}, 31, %t"));
            }
            S::Guarded { p, negated, inner } => {
                let not = if *negated { "!" } else { "" };
                self.statement(inner, &format!("@{not}%p{p}"));
            }
            S::If { p, then, otherwise } => {
                let label = self.label();
                self.line("", &format!("@!%p{p} bra ELSE{label}"));
                self.statements(then);
                self.line("", &format!("bra END{label}"));
                writeln!(self.text, "ELSE{label}:").unwrap();
                self.statements(otherwise);
                writeln!(self.text, "END{label}:").unwrap();
            }
            S::Loop { count, body } => self.repeat(&format!("and.b32 %n, %r{count}, 3"), body),
            S::Stride { d, a, b, limit, body } => {
                let label = self.label();
                self.line("", &format!("mov.b32 %r{d}, %r{a}"));
                writeln!(self.text, "{{ .reg .b32 %i; .reg .pred %again, %more;").unwrap();
                self.line("", "mov.u32 %i, 0");
                writeln!(self.text, "AGAIN{label}:").unwrap();
                self.line("", &format!("setp.lt.u32 %again, %r{d}, %r{limit}"));
                self.line("", "setp.lt.and.u32 %more, %i, 4, %again");
                self.line("", &format!("@!%more bra END{label}"));
                self.statements(body);
                self.line("", "add.u32 %i, %i, 1");
                self.line("", &format!("add.u32 %r{d}, %r{d}, %r{b}"));
                self.line("", &format!("bra AGAIN{label}"));
                writeln!(self.text, "END{label}:\n}}").unwrap();
            }
            S::Exit { p } => self.line("", &format!("@%p{p} exit")),
        }
    }

    fn repeat(&mut self, count: &str, body: &[Statement]) {
        let label = self.label();
        writeln!(self.text, "{{ .reg .b32 %i, %n; .reg .pred %again;").unwrap();
        self.line("", count);
        self.line("", "mov.u32 %i, 0");
        writeln!(self.text, "AGAIN{label}:").unwrap();
        self.statements(body);
        self.line("", "add.u32 %i, %i, 1");
        self.line("", "setp.lt.u32 %again, %i, %n");
        self.line("", &format!("@%again bra AGAIN{label}"));
        writeln!(self.text, "}}").unwrap();
    }
}

/// Bytes of the buffer in whose middle accesses begin: every 32-bit index stays inside.
const LARGE_BYTES: u64 = 1 << 36;

fn text(body: &[Statement]) -> String {
    let mut writer = Writer::default();
    writer.text += ".version 8.0\n.target sm_80\n.address_size 64\n\
        .visible .entry k(.param .u64 large, .param .u64 small, .param .u32 n) {\n";
    writeln!(
        writer.text,
        ".reg .b32 %r<{REGISTERS}>, %t, %base, %data32; .reg .pred %p<{PREDICATES}>, %inside;\n\
         .reg .b64 %q<{WIDE}>, %at, %middle, %small, %data64; .reg .b16 %data8, %data16;\n\
         .shared .align 16 .b32 tile[32];\n\
         ld.param.u64 %middle, [large]; add.u64 %middle, %middle, {};\n\
         ld.param.u64 %small, [small]; ld.param.u32 %r4, [n];\n\
         mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ntid.x;\n\
         mad.lo.u32 %r5, %r1, %r3, %r0; mov.u32 %r6, %nctaid.x; mov.u32 %r7, 3;\n\
         cvt.u64.u32 %q0, %r5; mov.u64 %q1, 12; mov.u64 %q2, 4294967290;\n\
         setp.lt.u32 %p0, %r5, %r4; setp.eq.u32 %p1, %r1, 0;",
        LARGE_BYTES / 2,
    )
    .unwrap();
    writer.statements(body);
    writer.text += "ret;\n}\n";
    writer.text
}

/// A grid, a block and the number that kernels get.
type Shape = ([u32; 3], [u32; 3], u32);

/// Compares a kernel. Returns the classes and the CTAs, or the reason why there are no classes.
fn compare(text: &str, (grid, block, n): Shape) -> Result<(usize, usize), String> {
    let module = match gpucast_ptx_frontend::load(text) {
        Ok(module) => module,
        Err(problems) => panic!("{:?}\n{text}", problems[0]),
    };
    let addresses =
        |name: &str, addresses| Buffer { name: name.to_owned(), contents: Vec::new(), addresses };
    let values = vec![Value::Pointer(0), Value::Pointer(1), Value::Bytes(n.to_le_bytes().to_vec())];
    let planned = Planned { kernel: "k".to_owned(), grid, block, shared: 0, values };
    let options = Options { instruction_budget: 1 << 15, ..Options::default() };
    let buffers = vec![addresses("large", LARGE_BYTES), addresses("small", 4000)];
    let case = Case { text, module: &module, buffers, launches: vec![planned], options };
    match case.compare_classes().pop() {
        Some(report) => Ok((report?.classes, grid.iter().product::<u32>() as usize)),
        None => Err("it is not sliced".to_owned()),
    }
}

#[test]
fn classes_of_random_kernels_count_alike() {
    let asked = std::env::var("GPUCAST_CLASS_CASES").ok().and_then(|text| text.parse().ok());
    let config = Config { cases: asked.unwrap_or(CASES), ..Config::default() };
    let grid = prop_oneof![
        (1..40_u32).prop_map(|x| [x, 1, 1]),
        (1..12_u32, 1..9_u32).prop_map(|(x, y)| [x, y, 1]),
        (1..6_u32, 1..5_u32, 1..5_u32).prop_map(|(x, y, z)| [x, y, z]),
    ];
    let block = prop_oneof![
        prop::sample::select(vec![[32, 1, 1], [64, 1, 1], [8, 4, 1]]),
        (1..70_u32).prop_map(|x| [x, 1, 1]),
    ];
    let shape = (grid, block, prop_oneof![0..2000_u32, any::<u32>()]);
    let cases = (prop::collection::vec(statement(), 1..14), shape);
    // Cases, those by classes, those by fewer classes than CTAs, and those of a quarter or less.
    let total = RefCell::new([0_u32; 4]);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let outcome = TestRunner::new(config).run(&cases, |(body, shape)| {
        let text = text(&body);
        let report = pool.install(|| compare(&text, shape));
        let mut total = total.borrow_mut();
        total[0] += 1;
        if let Ok((classes, ctas)) = report {
            total[1] += 1;
            total[2] += u32::from(classes < ctas);
            total[3] += u32::from(classes * 4 <= ctas);
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    let [cases, classed, fewer, quarter] = *total.borrow();
    println!(
        "{cases} cases, {classed} by classes, {fewer} by fewer than CTAs, {quarter} by a quarter"
    );
    assert!(classed * 2 > cases && fewer * 4 > cases && quarter * 8 > cases);
}
