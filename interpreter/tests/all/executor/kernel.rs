//! Random kernels without races: their results follow from the PTX manual alone.
//!
//! Threads read a table that nobody writes, and own words that nobody else touches. They meet in
//! sums that commute, in words of shared memory between two barriers, and in exchanges within
//! a warp among the lanes that are there.

use std::fmt::Write as _;

use proptest::prelude::*;

/// 32-bit registers and predicates that statements share.
pub(super) const REGISTERS: usize = 8;
pub(super) const PREDICATES: usize = 2;
/// Words of the table, of a thread's own memory, of each kind of sum, and of the bins in shared
/// memory; powers of two.
pub(super) const TABLE: u32 = 256;
pub(super) const OWN: u32 = 8;
pub(super) const SUMS: u32 = 8;
pub(super) const BINS: u32 = 16;
/// Threads of a CTA: a whole warp and a part of one.
pub(super) const THREADS: u32 = 48;
/// Rounds after which a loop ends whatever its condition says.
pub(super) const ROUNDS: u32 = 5;

/// Binary operations, as the manual names them.
pub(super) const BINARY: [&str; 12] = [
    "add.u32",
    "sub.u32",
    "mul.lo.u32",
    "and.b32",
    "xor.b32",
    "min.u32",
    "shr.u32",
    "or.b32",
    "shl.b32",
    "max.s32",
    "mul.hi.u32",
    "shr.s32",
];
pub(super) const UNARY: [&str; 5] = ["popc.b32", "clz.b32", "brev.b32", "not.b32", "neg.s32"];
pub(super) const COMPARISONS: [&str; 5] = ["lt.u32", "eq.u32", "ge.s32", "ne.u32", "hi.u32"];
/// Sums that commute; each kind has words of its own.
pub(super) const UPDATES: [&str; 4] = ["add.u32", "max.u32", "xor.b32", "min.u32"];
pub(super) const SPECIALS: [&str; 4] = ["tid.x", "ctaid.x", "laneid", "ntid.x"];

/// A statement of a random kernel. Numbers name registers.
#[derive(Clone, Debug)]
pub(super) enum Statement {
    Binary {
        operation: usize,
        d: usize,
        a: usize,
        b: usize,
    },
    Unary {
        operation: usize,
        d: usize,
        a: usize,
    },
    Constant {
        d: usize,
        value: u16,
    },
    Special {
        d: usize,
        which: usize,
    },
    Compare {
        p: usize,
        how: usize,
        a: usize,
        b: usize,
    },
    Select {
        d: usize,
        a: usize,
        b: usize,
        p: usize,
    },
    /// A load from the table, at a place that data decides.
    Table {
        d: usize,
        index: usize,
    },
    /// A load from or a store to the thread's own words, of global or local memory.
    Own {
        d: usize,
        index: usize,
        stores: bool,
        local: bool,
    },
    /// Two own words at once.
    OwnPair {
        d: usize,
        e: usize,
        index: usize,
        stores: bool,
    },
    /// An atomic on an own word, with its result.
    Ticket {
        d: usize,
        a: usize,
        index: usize,
    },
    /// A reduction of words that all threads share.
    Update {
        operation: usize,
        a: usize,
        index: usize,
    },
    /// A count in shared memory.
    Count {
        index: usize,
    },
    /// The lanes that are there and have the predicate.
    Ballot {
        d: usize,
        p: usize,
    },
    /// The value of the highest lane that is there.
    Last {
        d: usize,
        a: usize,
    },
    /// The sum over the lanes that are there.
    Reduce {
        d: usize,
        a: usize,
    },
    /// A function with a branch, and one that stores to own words.
    Call {
        d: usize,
        a: usize,
        stores: bool,
    },
    Guarded {
        p: usize,
        negated: bool,
        inner: Box<Statement>,
    },
    If {
        p: usize,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    /// As many rounds as a register says, at least one and at most four.
    Loop {
        count: usize,
        body: Vec<Statement>,
    },
    /// Rounds while a register is below another one; `leaves` may end it before.
    While {
        a: usize,
        b: usize,
        step: u16,
        leaves: Option<usize>,
        body: Vec<Statement>,
    },
    Exit {
        p: usize,
    },
    /// Each thread stores a word and loads that of another thread, between barriers.
    Exchange {
        d: usize,
        a: usize,
        distance: u32,
    },
}

fn register() -> impl Strategy<Value = usize> {
    0..REGISTERS
}

fn predicate() -> impl Strategy<Value = usize> {
    0..PREDICATES
}

/// Statements that may be guarded.
fn simple() -> impl Strategy<Value = Statement> {
    use Statement as S;
    let (r, p) = (register, predicate);
    prop_oneof![
        16 => (0..BINARY.len(), r(), r(), r())
            .prop_map(|(operation, d, a, b)| S::Binary { operation, d, a, b }),
        4 => (0..UNARY.len(), r(), r()).prop_map(|(operation, d, a)| S::Unary { operation, d, a }),
        3 => (r(), any::<u16>()).prop_map(|(d, value)| S::Constant { d, value }),
        4 => (r(), 0..SPECIALS.len()).prop_map(|(d, which)| S::Special { d, which }),
        8 => (p(), 0..COMPARISONS.len(), r(), r())
            .prop_map(|(p, how, a, b)| S::Compare { p, how, a, b }),
        3 => (r(), r(), r(), p()).prop_map(|(d, a, b, p)| S::Select { d, a, b, p }),
        8 => (r(), r()).prop_map(|(d, index)| S::Table { d, index }),
        8 => (r(), r(), any::<bool>(), prop::bool::weighted(0.3))
            .prop_map(|(d, index, stores, local)| S::Own { d, index, stores, local }),
        3 => (r(), r(), r(), any::<bool>())
            .prop_map(|(d, e, index, stores)| S::OwnPair { d, e, index, stores }),
        3 => (r(), r(), r()).prop_map(|(d, a, index)| S::Ticket { d, a, index }),
        6 => (0..UPDATES.len(), r(), r())
            .prop_map(|(operation, a, index)| S::Update { operation, a, index }),
        4 => r().prop_map(|index| S::Count { index }),
    ]
}

fn statement() -> impl Strategy<Value = Statement> {
    use Statement as S;
    let (r, p) = (register, predicate);
    let leaf = prop_oneof![
        40 => simple(),
        10 => (p(), any::<bool>(), simple()).prop_map(|(p, negated, inner)| {
            S::Guarded { p, negated, inner: Box::new(inner) }
        }),
        3 => (r(), p()).prop_map(|(d, p)| S::Ballot { d, p }),
        3 => (r(), r()).prop_map(|(d, a)| S::Last { d, a }),
        3 => (r(), r()).prop_map(|(d, a)| S::Reduce { d, a }),
        3 => (r(), r(), any::<bool>()).prop_map(|(d, a, stores)| S::Call { d, a, stores }),
        1 => p().prop_map(|p| S::Exit { p }),
    ];
    leaf.prop_recursive(3, 20, 4, move |inner| {
        let some = || prop::collection::vec(inner.clone(), 1..4);
        let or_none = prop::collection::vec(inner.clone(), 0..3);
        prop_oneof![
            3 => (p(), some(), or_none)
                .prop_map(|(p, then, otherwise)| S::If { p, then, otherwise }),
            2 => (r(), some()).prop_map(|(count, body)| S::Loop { count, body }),
            2 => (r(), r(), any::<u16>(), prop::option::of(p()), some()).prop_map(
                |(a, b, step, leaves, body)| S::While { a, b, step, leaves, body }
            ),
        ]
    })
}

/// Statements of a kernel's outermost level, where all threads of a CTA come.
pub(super) fn body() -> impl Strategy<Value = Vec<Statement>> {
    let outer = prop_oneof![
        8 => statement(),
        1 => (register(), register(), 0..THREADS)
            .prop_map(|(d, a, distance)| Statement::Exchange { d, a, distance }),
    ];
    prop::collection::vec(outer, 1..14)
}

/// The instructions in front of a body.
pub(super) const PROLOGUE: [&str; 32] = [
    "ld.param.u64 %table, [table]",
    "ld.param.u64 %own, [own]",
    "ld.param.u64 %sums, [sums]",
    "ld.param.u64 %out, [out]",
    "mov.u32 %th, %tid.x",
    "mov.u32 %cta, %ctaid.x",
    "mad.lo.u32 %t, %cta, 48, %th",
    "mul.wide.u32 %o, %t, 32",
    "add.u64 %own, %own, %o",
    "mov.u32 %r0, %th",
    "mov.u32 %r1, %cta",
    "mov.u32 %r2, 7",
    "and.b32 %t, %th, 1",
    "setp.eq.u32 %p0, %t, 0",
    "setp.lt.u32 %p1, %th, 40",
    "mov.u32 %r3, 100",
    "mov.u32 %r4, 101",
    "mov.u32 %r5, 102",
    "mov.u32 %r6, 103",
    "mov.u32 %r7, 104",
    "st.local.v4.u32 [lo], {%r2, %r2, %r2, %r2}",
    "st.local.v4.u32 [lo+16], {%r2, %r2, %r2, %r2}",
    "and.b32 %t, %th, 15",
    "shl.b32 %t, %t, 2",
    "mov.u32 %s, bins",
    "add.u32 %s, %s, %t",
    "st.shared.u32 [%s], 0",
    "shl.b32 %t, %th, 2",
    "mov.u32 %s, tile",
    "add.u32 %s, %s, %t",
    "st.shared.u32 [%s], %r2",
    "bar.sync 0",
];

/// The instructions behind a body: the bins become visible.
const EPILOGUE: &str = "bar.sync 0;
    setp.ge.u32 %again, %th, 16;
    @%again bra DONE;
    shl.b32 %t, %th, 2;
    mov.u32 %s, bins;
    add.u32 %s, %s, %t;
    ld.shared.u32 %t, [%s];
    mad.lo.u32 %s, %cta, 16, %th;
    mul.wide.u32 %o, %s, 4;
    add.u64 %at, %out, %o;
    st.global.u32 [%at], %t;
DONE:
    ret;
";

/// The functions that kernels call.
const FUNCTIONS: &str = ".func (.reg .b32 r) compute(.reg .b32 a, .reg .b64 own) {
    .reg .b32 t; .reg .pred p;
    mul.lo.u32 t, a, 3;
    setp.lt.u32 p, t, 100;
    @p bra SMALL;
    shr.u32 t, t, 1;
SMALL:
    add.u32 r, t, 1;
    ret;
}
.func (.reg .b32 r) store(.reg .b32 a, .reg .b64 own) {
    .reg .b32 t; .reg .b64 d;
    and.b32 t, a, 7;
    mul.wide.u32 d, t, 4;
    add.u64 d, d, own;
    ld.global.u32 r, [d];
    st.global.u32 [d], a;
    ret;
}
";

/// The text of a module with a kernel of this body.
pub(super) fn text(body: &[Statement]) -> String {
    let mut writer = Writer::default();
    writer.text += ".version 8.0\n.target sm_80\n.address_size 64\n";
    writer.text += FUNCTIONS;
    writer.text += ".visible .entry k(.param .u64 table, .param .u64 own, .param .u64 sums, \
                    .param .u64 out) {\n";
    writeln!(
        writer.text,
        ".reg .b32 %r<{REGISTERS}>, %t, %s, %th, %cta; .reg .pred %p<{PREDICATES}>, %again, %c;\n\
         .reg .b64 %at, %o, %base, %table, %own, %sums, %out;\n\
         .shared .align 16 .b32 bins[{BINS}]; .shared .align 16 .b32 tile[{THREADS}];\n\
         .local .align 16 .b32 lo[{OWN}];"
    )
    .unwrap();
    for line in PROLOGUE {
        writer.line(line);
    }
    writer.statements(body);
    writer.text += EPILOGUE;
    writer.text += "}\n";
    writer.text
}

#[derive(Default)]
struct Writer {
    text: String,
    labels: u32,
}

impl Writer {
    fn line(&mut self, line: &str) {
        writeln!(self.text, "    {line};").unwrap();
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

    /// Puts the address of a word behind a pointer into `%at`: two instructions, and one before
    /// for the word.
    fn word_of(&mut self, pointer: &str) {
        self.line("mul.wide.u32 %o, %t, 4");
        self.line(&format!("add.u64 %at, {pointer}, %o"));
    }

    fn statement(&mut self, statement: &Statement, guard: &str) {
        use Statement as S;
        match statement {
            S::Binary { operation, d, a, b } => {
                self.line(&format!("{guard}{} %r{d}, %r{a}, %r{b}", BINARY[*operation]));
            }
            S::Unary { operation, d, a } => {
                self.line(&format!("{guard}{} %r{d}, %r{a}", UNARY[*operation]));
            }
            S::Constant { d, value } => self.line(&format!("{guard}mov.b32 %r{d}, {value}")),
            S::Special { d, which } => {
                self.line(&format!("{guard}mov.u32 %r{d}, %{}", SPECIALS[*which]));
            }
            S::Compare { p, how, a, b } => {
                self.line(&format!("{guard}setp.{} %p{p}, %r{a}, %r{b}", COMPARISONS[*how]));
            }
            S::Select { d, a, b, p } => {
                self.line(&format!("{guard}selp.b32 %r{d}, %r{a}, %r{b}, %p{p}"));
            }
            S::Table { d, index } => {
                self.line(&format!("and.b32 %t, %r{index}, {}", TABLE - 1));
                self.word_of("%table");
                self.line(&format!("{guard}ld.global.u32 %r{d}, [%at]"));
            }
            S::Own { d, index, stores, local } => {
                self.line(&format!("and.b32 %t, %r{index}, {}", OWN - 1));
                let space = if *local { "local" } else { "global" };
                if *local {
                    self.line("mov.u64 %base, lo");
                    self.word_of("%base");
                } else {
                    self.word_of("%own");
                }
                self.line(&match stores {
                    true => format!("{guard}st.{space}.u32 [%at], %r{d}"),
                    false => format!("{guard}ld.{space}.u32 %r{d}, [%at]"),
                });
            }
            S::OwnPair { d, e, index, stores } => {
                self.line(&format!("and.b32 %t, %r{index}, {}", OWN - 2));
                self.word_of("%own");
                self.line(&match stores {
                    true => format!("{guard}st.global.v2.u32 [%at], {{%r{d}, %r{e}}}"),
                    false => format!("{guard}ld.global.v2.u32 {{%r{d}, %r{e}}}, [%at]"),
                });
            }
            S::Ticket { d, a, index } => {
                self.line(&format!("and.b32 %t, %r{index}, {}", OWN - 1));
                self.word_of("%own");
                self.line(&format!("{guard}atom.global.add.u32 %r{d}, [%at], %r{a}"));
            }
            S::Update { operation, a, index } => {
                self.line(&format!("and.b32 %t, %r{index}, {}", SUMS - 1));
                self.line(&format!("add.u32 %t, %t, {}", SUMS * *operation as u32));
                self.word_of("%sums");
                self.line(&format!("{guard}red.global.{} [%at], %r{a}", UPDATES[*operation]));
            }
            S::Count { index } => {
                self.line(&format!("and.b32 %t, %r{index}, {}", BINS - 1));
                self.line("shl.b32 %t, %t, 2");
                self.line("mov.u32 %s, bins");
                self.line("add.u32 %s, %s, %t");
                self.line(&format!("{guard}red.shared.add.u32 [%s], 1"));
            }
            S::Ballot { d, p } => {
                self.line("activemask.b32 %t");
                self.line(&format!("vote.sync.ballot.b32 %r{d}, %p{p}, %t"));
            }
            S::Last { d, a } => {
                self.line("activemask.b32 %t");
                self.line("bfind.u32 %s, %t");
                self.line(&format!("shfl.sync.idx.b32 %r{d}, %r{a}, %s, 31, %t"));
            }
            S::Reduce { d, a } => {
                self.line("activemask.b32 %t");
                self.line(&format!("redux.sync.add.u32 %r{d}, %r{a}, %t"));
            }
            S::Call { d, a, stores } => {
                let name = if *stores { "store" } else { "compute" };
                self.line(&format!("call (%r{d}), {name}, (%r{a}, %own)"));
            }
            S::Guarded { p, negated, inner } => {
                let not = if *negated { "!" } else { "" };
                self.statement(inner, &format!("@{not}%p{p} "));
            }
            S::If { p, then, otherwise } => {
                let label = self.label();
                self.line(&format!("@!%p{p} bra ELSE{label}"));
                self.statements(then);
                self.line(&format!("bra END{label}"));
                writeln!(self.text, "ELSE{label}:").unwrap();
                self.statements(otherwise);
                writeln!(self.text, "END{label}:").unwrap();
            }
            S::Loop { count, body } => {
                let label = self.label();
                writeln!(self.text, "{{ .reg .b32 %i, %n;").unwrap();
                self.line(&format!("and.b32 %n, %r{count}, 3"));
                self.line("mov.u32 %i, 0");
                writeln!(self.text, "AGAIN{label}:").unwrap();
                self.statements(body);
                self.line("add.u32 %i, %i, 1");
                self.line("setp.le.u32 %again, %i, %n");
                self.line(&format!("@%again bra AGAIN{label}"));
                writeln!(self.text, "}}").unwrap();
            }
            S::While { a, b, step, leaves, body } => {
                let label = self.label();
                writeln!(self.text, "{{ .reg .b32 %i;").unwrap();
                self.line("mov.u32 %i, 0");
                writeln!(self.text, "AGAIN{label}:").unwrap();
                self.line(&format!("setp.lt.u32 %c, %r{a}, %r{b}"));
                self.line(&format!("setp.lt.and.u32 %again, %i, {ROUNDS}, %c"));
                self.line(&format!("@!%again bra END{label}"));
                self.statements(body);
                self.line("add.u32 %i, %i, 1");
                if let Some(p) = leaves {
                    self.line(&format!("@%p{p} bra END{label}"));
                }
                self.line(&format!("add.u32 %r{a}, %r{a}, {step}"));
                self.line(&format!("bra AGAIN{label}"));
                writeln!(self.text, "END{label}:\n}}").unwrap();
            }
            S::Exit { p } => self.line(&format!("@%p{p} exit")),
            S::Exchange { d, a, distance } => {
                self.line("shl.b32 %t, %th, 2");
                self.line("mov.u32 %s, tile");
                self.line("add.u32 %t, %t, %s");
                self.line(&format!("st.shared.u32 [%t], %r{a}"));
                self.line("bar.sync 0");
                self.line(&format!("add.u32 %t, %th, {distance}"));
                self.line(&format!("rem.u32 %t, %t, {THREADS}"));
                self.line("shl.b32 %t, %t, 2");
                self.line("add.u32 %t, %t, %s");
                self.line(&format!("ld.shared.u32 %r{d}, [%t]"));
                self.line("bar.sync 0");
            }
        }
    }
}
