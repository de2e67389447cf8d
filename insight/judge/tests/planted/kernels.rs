//! Five tasks: a reference in PTX, its launch file, and the frame in which candidates are written.
//!
//! Every kernel has the same registers and the same beginning, so that a candidate is a body. `I`,
//! `T`, `B` and `G` stand for the thread's index in the grid and in its block, the block, and the
//! threads of the grid.

/// A task.
#[derive(Clone, Copy)]
pub(crate) struct Task {
    pub(crate) name: &'static str,
    /// Types and names of the kernel's parameters, and the registers that they are in.
    pub(crate) parameters: &'static [(&'static str, &'static str, &'static str)],
    /// The body of the reference.
    pub(crate) body: &'static str,
    /// The tables of its launch file behind the module.
    pub(crate) launch: &'static str,
}

/// y = a x + b.
pub(crate) const MAP: Task = Task {
    name: "map",
    parameters: &[
        ("u64", "x", "%rd1"),
        ("u64", "b", "%rd2"),
        ("u64", "y", "%rd3"),
        ("u32", "n", "%r1"),
        ("f32", "a", "%f1"),
    ],
    body: "setp.ge.u32 %p1, I, %r1; @%p1 bra DONE;
        mul.wide.u32 %rd4, I, 4;
        add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4; add.s64 %rd7, %rd3, %rd4;
        ld.global.f32 %f2, [%rd5]; ld.global.f32 %f3, [%rd6];
        fma.rn.f32 %f4, %f1, %f2, %f3;
        st.global.f32 [%rd7], %f4;
        DONE: ret;",
    launch: r#"
[parameters]
n = 256
[buffers.x]
type = "f32"
len = "${n}"
init = { uniform = { low = -1.0, high = 1.0, seed = 1 } }
[buffers.b]
type = "f32"
len = "${n}"
init = { uniform = { low = -1.0, high = 1.0, seed = 2 } }
[buffers.y]
type = "f32"
len = "${n}"
[[launch]]
kernel = "kernel"
grid = ["${ceil(n / 64)}", 1, 1]
block = [64, 1, 1]
args = ["x", "b", "y", { u32 = "${n}" }, { f32 = 0.5 }]
"#,
};

/// out[0] += sum of x, by one thread of the reference.
pub(crate) const SUM: Task = Task {
    name: "sum",
    parameters: &[("u64", "x", "%rd1"), ("u64", "out", "%rd2"), ("u32", "n", "%r1")],
    body: "setp.ne.u32 %p1, I, 0; @%p1 bra DONE;
        mov.f32 %f1, 0f00000000; mov.u32 %r10, 0; mov.u64 %rd4, %rd1;
        NEXT: setp.ge.u32 %p2, %r10, %r1; @%p2 bra STORE;
        ld.global.f32 %f2, [%rd4]; add.f32 %f1, %f1, %f2;
        add.u32 %r10, %r10, 1; add.s64 %rd4, %rd4, 4; bra NEXT;
        STORE: st.global.f32 [%rd2], %f1;
        DONE: ret;",
    launch: r#"
[parameters]
n = 256
[buffers.x]
type = "f32"
len = "${n}"
init = { uniform = { low = 0.0, high = 1.0, seed = 1 } }
[buffers.out]
type = "f32"
len = 1
init = "zero"
[[launch]]
kernel = "kernel"
grid = ["${ceil(n / 64)}", 1, 1]
block = [64, 1, 1]
args = ["x", "out", { u32 = "${n}" }]
"#,
};

/// C = A B of square matrices, a thread for each element.
pub(crate) const PRODUCT: Task = Task {
    name: "product",
    parameters: &[
        ("u64", "a", "%rd1"),
        ("u64", "b", "%rd2"),
        ("u64", "c", "%rd3"),
        ("u32", "n", "%r1"),
    ],
    body: "mad.lo.u32 %r10, BX, 8, TX; mad.lo.u32 %r11, BY, 8, TY;
        setp.ge.u32 %p1, %r10, %r1; setp.ge.u32 %p2, %r11, %r1; or.pred %p1, %p1, %p2;
        @%p1 bra DONE;
        mov.f32 %f1, 0f00000000; mov.u32 %r12, 0;
        NEXT: setp.ge.u32 %p3, %r12, %r1; @%p3 bra STORE;
        mad.lo.u32 %r13, %r11, %r1, %r12; mul.wide.u32 %rd4, %r13, 4; add.s64 %rd4, %rd1, %rd4;
        mad.lo.u32 %r14, %r12, %r1, %r10; mul.wide.u32 %rd5, %r14, 4; add.s64 %rd5, %rd2, %rd5;
        ld.global.f32 %f2, [%rd4]; ld.global.f32 %f3, [%rd5];
        fma.rn.f32 %f1, %f2, %f3, %f1;
        add.u32 %r12, %r12, 1; bra NEXT;
        STORE: mad.lo.u32 %r15, %r11, %r1, %r10; mul.wide.u32 %rd6, %r15, 4;
        add.s64 %rd6, %rd3, %rd6; st.global.f32 [%rd6], %f1;
        DONE: ret;",
    launch: r#"
[parameters]
n = 16
[buffers.a]
type = "f32"
len = "${n * n}"
init = { uniform = { low = -1.0, high = 1.0, seed = 1 } }
[buffers.b]
type = "f32"
len = "${n * n}"
init = { uniform = { low = -1.0, high = 1.0, seed = 2 } }
[buffers.c]
type = "f32"
len = "${n * n}"
[[launch]]
kernel = "kernel"
grid = ["${ceil(n / 8)}", "${ceil(n / 8)}", 1]
block = [8, 8, 1]
args = ["a", "b", "c", { u32 = "${n}" }]
"#,
};

/// Numbers of values in 16 bins.
pub(crate) const HISTOGRAM: Task = Task {
    name: "histogram",
    parameters: &[("u64", "x", "%rd1"), ("u64", "bins", "%rd2"), ("u32", "n", "%r1")],
    body: "setp.ge.u32 %p1, I, %r1; @%p1 bra DONE;
        mul.wide.u32 %rd4, I, 4; add.s64 %rd4, %rd1, %rd4; ld.global.u32 %r10, [%rd4];
        and.b32 %r10, %r10, 15; mul.wide.u32 %rd5, %r10, 4; add.s64 %rd5, %rd2, %rd5;
        red.global.add.u32 [%rd5], 1;
        DONE: ret;",
    launch: r#"
[parameters]
n = 256
[buffers.x]
type = "u32"
len = "${n}"
init = { uniform = { low = 0, high = 1000, seed = 1 } }
[buffers.bins]
type = "u32"
len = 16
init = "zero"
[[launch]]
kernel = "kernel"
grid = ["${ceil(n / 64)}", 1, 1]
block = [64, 1, 1]
args = ["x", "bins", { u32 = "${n}" }]
"#,
};

/// y is x from the end.
pub(crate) const REVERSAL: Task = Task {
    name: "reversal",
    parameters: &[("u64", "x", "%rd1"), ("u64", "y", "%rd2"), ("u32", "n", "%r1")],
    body: "setp.ge.u32 %p1, I, %r1; @%p1 bra DONE;
        mul.wide.u32 %rd4, I, 4; add.s64 %rd4, %rd1, %rd4; ld.global.u32 %r10, [%rd4];
        sub.u32 %r11, %r1, I; sub.u32 %r11, %r11, 1;
        mul.wide.u32 %rd5, %r11, 4; add.s64 %rd5, %rd2, %rd5; st.global.u32 [%rd5], %r10;
        DONE: ret;",
    launch: r#"
[parameters]
n = 256
[buffers.x]
type = "u32"
len = "${n}"
init = { uniform = { low = 0, high = 1000, seed = 1 } }
[buffers.y]
type = "u32"
len = "${n}"
[[launch]]
kernel = "kernel"
grid = ["${ceil(n / 64)}", 1, 1]
block = [64, 1, 1]
args = ["x", "y", { u32 = "${n}" }]
"#,
};

/// A module with a kernel of this body, behind the variables of the module.
pub(crate) fn module(task: &Task, variables: &str, body: &str) -> String {
    let declared: Vec<String> =
        task.parameters.iter().map(|(ty, name, _)| format!(".param .{ty} p_{name}")).collect();
    let loaded: String = task
        .parameters
        .iter()
        .map(|(ty, name, register)| format!("ld.param.{ty} {register}, [p_{name}];\n"))
        .collect();
    let words = [
        ("TX", "%r30"),
        ("TY", "%r31"),
        ("BX", "%r32"),
        ("BY", "%r33"),
        ("I", "%r34"),
        ("T", "%r30"),
        ("B", "%r32"),
        ("G", "%r35"),
    ];
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut code = String::new();
    for part in body.split_inclusive(|c| !is_word(c)) {
        let word = part.trim_end_matches(|c| !is_word(c));
        let register = words.iter().find(|(name, _)| *name == word).map(|(_, register)| *register);
        code += &format!("{}{}", register.unwrap_or(word), &part[word.len()..]);
    }
    format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n{variables}\n\
         .visible .entry kernel({})\n{{\n\
         .reg .pred %p<10>; .reg .b16 %h<10>; .reg .f32 %f<40>; .reg .f64 %d<10>;\n\
         .reg .b32 %r<40>; .reg .b64 %rd<30>;\n\
         {loaded}mov.u32 %r30, %tid.x; mov.u32 %r31, %tid.y; mov.u32 %r32, %ctaid.x;\n\
         mov.u32 %r33, %ctaid.y; mov.u32 %r36, %ntid.x; mov.u32 %r37, %nctaid.x;\n\
         mad.lo.u32 %r34, %r32, %r36, %r30; mul.lo.u32 %r35, %r36, %r37;\n\
         {}\n}}\n",
        declared.join(", "),
        code.replace("; ", ";\n")
    )
}
