//! Random kernels: structured control flow that values decide, accesses of every space by known
//! and generic addresses, atomics with and without results, calls, registers that are used again.

use std::fmt::Write as _;

use gpucast_interpreter::Options;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::{Buffer, Case, Compared, Planned, Value};

/// Cases of a run of the tests; `GPUCAST_SLICE_CASES` asks for others.
const CASES: u32 = 400;
/// 32-bit registers that statements share. The first ones mostly hold what decides, and the others
/// data; otherwise nearly everything would decide.
const REGISTERS: u8 = 10;
const DECIDING: u8 = 5;
/// Predicates that statements share.
const PREDICATES: u8 = 2;
/// Buffers of a launch.
const BUFFERS: usize = 3;
/// Words of each buffer and of each array in shared and local memory; a power of two.
const WORDS: u32 = 32;

/// The place that an access goes to.
#[derive(Clone, Copy, Debug)]
enum AccessTarget {
    Buffer(u8),
    /// A variable of the module.
    Variable,
    Shared(u8),
    Local,
}

/// A statement of a random kernel. Numbers name registers.
#[derive(Clone, Debug)]
enum Statement {
    Integer { operation: u8, d: u8, a: u8, b: u8 },
    Float { operation: u8, d: u8, a: u8, b: u8 },
    Constant { d: u8, value: u16 },
    Special { d: u8, which: u8 },
    Compare { p: u8, how: u8, a: u8, b: u8 },
    Select { d: u8, a: u8, b: u8, p: u8 },
    Load { d: u8, place: AccessTarget, index: u8, generic: bool },
    Store { a: u8, place: AccessTarget, index: u8, generic: bool },
    Vector { d: u8, e: u8, place: AccessTarget, index: u8, stores: bool },
    Atomic { d: Option<u8>, a: u8, place: AccessTarget, index: u8, operation: u8 },
    Shuffle { d: u8, a: u8, lane: u8 },
    Ballot { d: u8, p: u8 },
    Call { d: u8, a: u8, stores: bool },
    CopyAsync { buffer: u8, index: u8 },
    Matrix { d: u8, a: u8 },
    Barrier,
    Guarded { p: u8, negated: bool, inner: Box<Statement> },
    If { p: u8, then: Vec<Statement>, otherwise: Vec<Statement> },
    Loop { count: u8, body: Vec<Statement> },
    Exit { p: u8 },
}

/// A register of data, as a rule.
fn register() -> impl Strategy<Value = u8> {
    prop_oneof![200 => DECIDING..REGISTERS, 1 => 0..REGISTERS]
}

/// A register that decides, as a rule.
fn deciding() -> impl Strategy<Value = u8> {
    prop_oneof![200 => 0..DECIDING, 1 => 0..REGISTERS]
}

fn place() -> impl Strategy<Value = AccessTarget> {
    prop_oneof![
        3 => (0..BUFFERS as u8).prop_map(AccessTarget::Buffer),
        1 => Just(AccessTarget::Variable),
        2 => (0..2_u8).prop_map(AccessTarget::Shared),
        1 => Just(AccessTarget::Local),
    ]
}

/// Statements that may be guarded.
fn simple() -> impl Strategy<Value = Statement> {
    use Statement as S;
    let (r, i) = (register, deciding);
    let p = || 0..PREDICATES;
    prop_oneof![
        8 => (0..8_u8, i(), i(), i())
            .prop_map(|(operation, d, a, b)| S::Integer { operation, d, a, b }),
        16 => (0..8_u8, r(), r(), r())
            .prop_map(|(operation, d, a, b)| S::Integer { operation, d, a, b }),
        12 => (0..6_u8, r(), r(), r())
            .prop_map(|(operation, d, a, b)| S::Float { operation, d, a, b }),
        4 => (i(), any::<u16>()).prop_map(|(d, value)| S::Constant { d, value }),
        8 => (i(), 0..5_u8).prop_map(|(d, which)| S::Special { d, which }),
        8 => (p(), 0..4_u8, i(), i()).prop_map(|(p, how, a, b)| S::Compare { p, how, a, b }),
        4 => (r(), r(), r(), p()).prop_map(|(d, a, b, p)| S::Select { d, a, b, p }),
        16 => (r(), place(), i(), prop::bool::weighted(0.2))
            .prop_map(|(d, place, index, generic)| S::Load { d, place, index, generic }),
        1 => (i(), place(), i(), prop::bool::weighted(0.2))
            .prop_map(|(d, place, index, generic)| S::Load { d, place, index, generic }),
        16 => (r(), place(), i(), prop::bool::weighted(0.2))
            .prop_map(|(a, place, index, generic)| S::Store { a, place, index, generic }),
        4 => (r(), r(), place(), i(), any::<bool>())
            .prop_map(|(d, e, place, index, stores)| S::Vector { d, e, place, index, stores }),
        8 => (prop::option::of(r()), r(), place(), i(), 0..4_u8)
            .prop_map(|(d, a, place, index, operation)| {
                S::Atomic { d, a, place, index, operation }
            }),
        4 => (r(), r(), 0..32_u8).prop_map(|(d, a, lane)| S::Shuffle { d, a, lane }),
        4 => (r(), p()).prop_map(|(d, p)| S::Ballot { d, p }),
    ]
}

fn statement() -> impl Strategy<Value = Statement> {
    use Statement as S;
    let p = || 0..PREDICATES;
    let leaf = prop_oneof![
        60 => simple(),
        12 => (p(), any::<bool>(), simple()).prop_map(|(p, negated, inner)| {
            S::Guarded { p, negated, inner: Box::new(inner) }
        }),
        1 => (register(), register(), any::<bool>())
            .prop_map(|(d, a, stores)| S::Call { d, a, stores }),
        4 => (0..BUFFERS as u8, deciding())
            .prop_map(|(buffer, index)| S::CopyAsync { buffer, index }),
        2 => p().prop_map(|p| S::Exit { p }),
    ];
    leaf.prop_recursive(2, 12, 4, move |inner| {
        let some = || prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            (p(), some(), prop::collection::vec(inner.clone(), 0..3))
                .prop_map(|(p, then, otherwise)| S::If { p, then, otherwise }),
            (deciding(), some()).prop_map(|(count, body)| S::Loop { count, body }),
        ]
    })
}

/// Statements of a kernel's outermost level, where all threads of a CTA are.
fn body() -> impl Strategy<Value = Vec<Statement>> {
    let outer = prop_oneof![
        8 => statement(),
        1 => Just(Statement::Barrier),
        1 => (register(), register()).prop_map(|(d, a)| Statement::Matrix { d, a }),
    ];
    prop::collection::vec(outer, 1..16)
}

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

    /// Puts an address into `%at`, or an offset into `%t` for spaces of 32 bits, and returns the
    /// operand and the space.
    fn address(
        &mut self,
        place: AccessTarget,
        index: u8,
        scale: u32,
        generic: bool,
    ) -> (String, String) {
        let last = WORDS - scale;
        writeln!(self.text, "and.b32 %t, %r{index}, {last}; and.b32 %t, %t, {};", !(scale - 1))
            .unwrap();
        self.line("", "mul.wide.u32 %o, %t, 4");
        let (space, base) = match place {
            AccessTarget::Buffer(at) => (".global", format!("%buf{at}")),
            AccessTarget::Variable => (".global", "variable".to_owned()),
            AccessTarget::Shared(at) => (".shared", format!("sh{at}")),
            AccessTarget::Local => (".local", "lo".to_owned()),
        };
        if let AccessTarget::Buffer(_) = place {
            self.line("", &format!("add.u64 %at, %o, {base}"));
            let space = if generic { "" } else { space };
            return ("[%at]".to_owned(), space.to_owned());
        }
        self.line("", &format!("mov.u64 %base, {base}"));
        if generic {
            self.line("", &format!("cvta{space}.u64 %base, %base"));
        }
        self.line("", "add.u64 %at, %o, %base");
        ("[%at]".to_owned(), if generic { String::new() } else { space.to_owned() })
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
            S::Integer { operation, d, a, b } => {
                let operation = [
                    "add.u32",
                    "sub.u32",
                    "mul.lo.u32",
                    "and.b32",
                    "xor.b32",
                    "min.u32",
                    "shr.u32",
                    "or.b32",
                ][usize::from(*operation)];
                self.line(guard, &format!("{operation} %r{d}, %r{a}, %r{b}"));
            }
            S::Float { operation, d, a, b } => {
                let operation =
                    ["add.f32", "mul.f32", "sub.f32", "max.f32", "div.approx.f32", "min.f32"]
                        [usize::from(*operation)];
                self.line(guard, &format!("{operation} %r{d}, %r{a}, %r{b}"));
            }
            S::Constant { d, value } => self.line(guard, &format!("mov.b32 %r{d}, {value}")),
            S::Special { d, which } => {
                let name = ["tid.x", "ctaid.x", "laneid", "warpid", "clock"][usize::from(*which)];
                self.line(guard, &format!("mov.u32 %r{d}, %{name}"));
            }
            S::Compare { p, how, a, b } => {
                let how = ["lt.u32", "eq.u32", "lt.f32", "ge.s32"][usize::from(*how)];
                self.line(guard, &format!("setp.{how} %p{p}, %r{a}, %r{b}"));
            }
            S::Select { d, a, b, p } => {
                self.line(guard, &format!("selp.b32 %r{d}, %r{a}, %r{b}, %p{p}"));
            }
            S::Load { d, place, index, generic } => {
                let (at, space) = self.address(*place, *index, 1, *generic);
                self.line(guard, &format!("ld{space}.b32 %r{d}, {at}"));
            }
            S::Store { a, place, index, generic } => {
                let (at, space) = self.address(*place, *index, 1, *generic);
                self.line(guard, &format!("st{space}.b32 {at}, %r{a}"));
            }
            S::Vector { d, e, place, index, stores } => {
                let (at, space) = self.address(*place, *index, 2, false);
                let line = match stores {
                    true => format!("st{space}.v2.b32 {at}, {{%r{d}, %r{e}}}"),
                    false => format!("ld{space}.v2.b32 {{%r{d}, %r{e}}}, {at}"),
                };
                self.line(guard, &line);
            }
            S::Atomic { d, a, place, index, operation } => {
                let place = match place {
                    AccessTarget::Local => AccessTarget::Shared(0),
                    other => *other,
                };
                let (at, space) = self.address(place, *index, 1, false);
                let operation =
                    ["add.u32", "max.u32", "exch.b32", "add.f32"][usize::from(*operation)];
                let line = match d {
                    Some(d) => format!("atom{space}.{operation} %r{d}, {at}, %r{a}"),
                    None if operation == "exch.b32" => {
                        format!("atom{space}.{operation} _, {at}, %r{a}")
                    }
                    None => format!("red{space}.{operation} {at}, %r{a}"),
                };
                self.line(guard, &line);
            }
            S::Shuffle { d, a, lane } => {
                // Any lanes may come to it.
                self.line(guard, "activemask.b32 %t");
                self.line(guard, &format!("shfl.sync.idx.b32 %r{d}, %r{a}, {lane}, 31, %t"));
            }
            S::Ballot { d, p } => {
                self.line(guard, "activemask.b32 %t");
                self.line(guard, &format!("vote.sync.ballot.b32 %r{d}, %p{p}, %t"));
            }
            S::Call { d, a, stores } => {
                let name = if *stores { "store" } else { "compute" };
                self.line("", &format!("call (%r{d}), {name}, (%r{a}, %buf0)"));
            }
            S::CopyAsync { buffer, index } => {
                let (at, _) = self.address(AccessTarget::Buffer(*buffer), *index, 1, false);
                self.line("", "mov.u64 %base, sh0");
                self.line("", "add.u64 %o, %o, %base");
                self.line("", &format!("cp.async.ca.shared.global [%o], {at}, 4"));
                self.line("", "cp.async.wait_all");
            }
            S::Matrix { d, a } => self.line(
                "",
                &format!(
                    "@%whole mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {{%r{d}, %m0}}, \
                     {{%r{a}}}, {{%r{d}}}, {{%r{a}, %m1}}"
                ),
            ),
            S::Barrier => self.line("", "bar.sync 0"),
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
            S::Loop { count, body } => {
                let label = self.label();
                writeln!(self.text, "{{ .reg .b32 %i, %n; .reg .pred %again;").unwrap();
                self.line("", &format!("and.b32 %n, %r{count}, 3"));
                self.line("", "mov.u32 %i, 0");
                writeln!(self.text, "AGAIN{label}:").unwrap();
                self.statements(body);
                self.line("", "add.u32 %i, %i, 1");
                self.line("", "setp.lt.u32 %again, %i, %n");
                self.line("", &format!("@%again bra AGAIN{label}"));
                writeln!(self.text, "}}").unwrap();
            }
            S::Exit { p } => self.line("", &format!("@%p{p} exit")),
        }
    }
}

/// The text of a module with a kernel of each of two bodies.
fn text(bodies: &[Vec<Statement>; 2]) -> String {
    let mut writer = Writer::default();
    writer.text += ".version 8.0\n.target sm_80\n.address_size 64\n";
    writeln!(writer.text, ".global .align 16 .b32 variable[{WORDS}];").unwrap();
    writer.text += ".func (.reg .b32 r) compute(.reg .b32 a, .reg .b64 b) {\n\
                    .reg .b32 t; mul.lo.u32 t, a, 3; add.u32 r, t, 1; ret; }\n\
                    .func (.reg .b32 r) store(.reg .b32 a, .reg .b64 b) {\n\
                    .reg .b32 t; .reg .b64 d; and.b32 t, a, 31; mul.wide.u32 d, t, 4;\n\
                    add.u64 d, d, b; ld.global.b32 r, [d]; st.global.b32 [d+0], a; ret; }\n";
    for (index, body) in bodies.iter().enumerate() {
        let parameters: Vec<String> = (0..BUFFERS).map(|at| format!(".param .u64 p{at}")).collect();
        writeln!(writer.text, ".visible .entry k{index}({}) {{", parameters.join(", ")).unwrap();
        writeln!(
            writer.text,
            ".reg .b32 %r<{REGISTERS}>, %t, %m0, %m1; .reg .pred %p<{PREDICATES}>, %whole;\n\
             .reg .b64 %at, %o, %base, %buf<{BUFFERS}>;\n\
             .shared .align 16 .b32 sh0[{WORDS}]; .shared .align 16 .b32 sh1[{WORDS}];\n\
             .local .align 16 .b32 lo[{WORDS}];"
        )
        .unwrap();
        for at in 0..BUFFERS {
            writeln!(writer.text, "ld.param.u64 %buf{at}, [p{at}];").unwrap();
        }
        writer.text += "mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, 7;\n\
                        setp.eq.u32 %p0, %r1, 0; activemask.b32 %t; setp.eq.u32 %whole, %t, -1;\n";
        writer.statements(body);
        writer.text += "ret;\n}\n";
    }
    writer.text
}

/// The launches of a module: each kernel once, or one of them twice.
fn compare(text: &str, order: [usize; 2], pointers: [[usize; BUFFERS]; 2]) -> Compared {
    let module = match gpucast_ptx_frontend::load(text) {
        Ok(module) => module,
        Err(problems) => panic!("{:?}\n{text}", problems[0]),
    };
    let contents = |at: usize| {
        let word = |index: u32| (index.wrapping_mul(2_654_435_761) >> (at * 5)).to_le_bytes();
        (0..WORDS).flat_map(word).collect()
    };
    let buffer = |at: usize| Buffer::new(format!("b{at}"), contents(at));
    let launch = |kernel: usize, pointers: [usize; BUFFERS]| Planned {
        kernel: format!("k{kernel}"),
        grid: [3, 1, 1],
        block: [40, 1, 1],
        shared: 0,
        values: pointers.map(Value::Pointer).to_vec(),
    };
    let launches = vec![launch(order[0], pointers[0]), launch(order[1], pointers[1])];
    let options = Options { instruction_budget: 1 << 14, ..Options::default() };
    let buffers = (0..BUFFERS).map(buffer).collect();
    let case = Case { text, module: &module, buffers, launches, options };
    case.compare().unwrap_or_default()
}

#[test]
fn slices_of_random_kernels_count_alike() {
    let asked = std::env::var("GPUCAST_SLICE_CASES").ok().and_then(|text| text.parse().ok());
    let config = Config { cases: asked.unwrap_or(CASES), ..Config::default() };
    let pointers = || prop::array::uniform3(0..BUFFERS);
    let cases = ([body(), body()], prop::array::uniform2(0..2_usize), [pointers(), pointers()]);
    let total = std::cell::RefCell::new((0_u32, 0_u32, 0_usize, 0_usize, 0_usize, 0_u32));
    // One thread: plain stores may race, and the second launch may read what they have left.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let outcome = TestRunner::new(config).run(&cases, |(bodies, order, pointers)| {
        let text = text(&bodies);
        let one = pool.install(|| compare(&text, order, pointers));
        let mut total = total.borrow_mut();
        total.0 += 1;
        total.1 += u32::from(one.fell_back);
        total.2 += one.left_out;
        total.3 += one.instructions;
        total.4 += one.unheld;
        total.5 += u32::from(one.ignores_contents);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    let (cases, fell_back, left_out, instructions, unheld, ignore) = *total.borrow();
    println!(
        "{cases} cases, {fell_back} fell back, {left_out} of {instructions} instructions left \
         out, {unheld} buffers without memory, {ignore} that ignore contents"
    );
    assert!(fell_back * 20 < cases, "{fell_back} of {cases}");
    assert!(ignore * 20 > cases, "{ignore} of {cases}");
    assert!(left_out * 25 > instructions && unheld as u32 * 2 > cases, "{left_out} {unheld}");
}
