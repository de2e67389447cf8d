//! The PTX of a file of cases.
//!
//! Most kernels of `tests/instructions` read a value from each operand's buffer, compute, and write
//! the results. Such a kernel stands there in short; other kernels stand as they are.
//!
//! ```text
//! kernel add_u16: a u16, b u16 -> d u16    its name, operands, results, and their types
//!     add.u16 %d, %a, %b;                  what it computes
//! cases
//!     0, 0 -> 0; 65535, 1 -> 0;            operands, and the results expected
//! ```
//!
//! `a u8:b16` is a value of type `u8` that a register of type `b16` holds; one of type `pred` says
//! whether the value is not zero. A third word, `~1e-6`, is the relative error that a result may
//! have. A name on both sides of the arrow is a buffer that the instructions change in place:
//! `%px` is the address of the thread's value in `x`.

#![allow(clippy::expect_used, reason = "a file of cases that is wrong fails its test")]

use std::fmt::Write as _;

/// A buffer in the head of a kernel: `NAME TYPE`, `NAME TYPE:REGISTER`, with `~ERROR` behind it.
struct Buffer<'t> {
    name: &'t str,
    ty: &'t str,
    register: &'t str,
    error: &'t str,
}

impl<'t> Buffer<'t> {
    fn new(text: &'t str) -> Self {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let types = words.next().unwrap_or_default();
        let (ty, register) = types.split_once(':').unwrap_or_else(|| {
            let register = match types {
                "u8" => "u32",
                "s8" => "s32",
                "f16" | "bf16" => "b16",
                other => other,
            };
            (types, register)
        });
        Buffer { name, ty, register, error: words.next().unwrap_or_default() }
    }

    /// Bytes of a value. A type without digits is two of 8 bits, packed.
    fn bytes(&self) -> u32 {
        let digits = self.ty.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        digits.parse().map_or(2, |bits: u32| bits / 8)
    }

    /// The type of its load or store: that of a register of its own width, else its own.
    fn access(&self) -> &'t str {
        if self.bytes() == 1 { self.ty } else { self.register }
    }
}

/// The text with each short kernel written out as PTX, behind comments of one line a case.
pub(crate) fn expanded(text: &str) -> String {
    let mut ptx = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(head) = line.strip_prefix("kernel ") else {
            ptx.push_str(line);
            ptx.push('\n');
            continue;
        };
        let mut core = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with("    ")) {
            core.push(line);
        }
        assert_eq!(lines.next(), Some("cases"), "behind the instructions of {head}");
        let mut rows = String::new();
        while let Some(line) = lines.next_if(|line| line.starts_with("    ")) {
            rows.push_str(line);
        }
        write_kernel(&mut ptx, head, &core, &rows).expect("strings take what is written");
    }
    ptx
}

fn write_kernel(ptx: &mut String, head: &str, core: &[&str], rows: &str) -> std::fmt::Result {
    let (name, buffers) = head.split_once(':').expect("a colon behind the name");
    let (operands, results) = buffers.split_once("->").expect("results behind an arrow");
    let operands: Vec<Buffer> = operands.split(',').map(Buffer::new).collect();
    let results: Vec<Buffer> = results.split(',').map(Buffer::new).collect();
    let named = |buffers: &[Buffer], name| buffers.iter().any(|buffer| buffer.name == name);
    let loaded = || operands.iter().filter(|buffer| !named(&results, buffer.name));
    let stored = || results.iter().filter(|buffer| !named(&operands, buffer.name));
    let all = || operands.iter().chain(stored());

    let shown = |buffers: &[Buffer]| {
        let shown =
            buffers.iter().map(|buffer| format!("{} {} {}", buffer.name, buffer.ty, buffer.error));
        shown.map(|buffer| buffer.trim().to_owned()).collect::<Vec<_>>().join(", ")
    };
    writeln!(ptx, "// case {} -> {}", shown(&operands), shown(&results))?;
    for row in rows.split(';').map(str::trim).filter(|row| !row.is_empty()) {
        writeln!(ptx, "//   {row}")?;
    }
    let parameters: Vec<String> =
        all().map(|buffer| format!(".param .u64 {}", buffer.name)).collect();
    writeln!(ptx, ".visible .entry {name}({})\n{{", parameters.join(", "))?;
    writeln!(ptx, "    .reg .b32 %i;\n    mov.u32 %i, %tid.x;")?;
    for buffer in all() {
        let name = buffer.name;
        writeln!(ptx, "    .reg .b64 %p{name};")?;
        let bytes = buffer.bytes();
        writeln!(
            ptx,
            "    ld.param.u64 %p{name}, [{name}]; mad.wide.u32 %p{name}, %i, {bytes}, %p{name};"
        )?;
    }
    for buffer in loaded().chain(stored()) {
        writeln!(ptx, "    .reg .{} %{};", buffer.register, buffer.name)?;
    }
    for operand in loaded() {
        let Buffer { name, ty, .. } = operand;
        if operand.register == "pred" {
            writeln!(ptx, "    .reg .{ty} %{name}w;\n    ld.global.{ty} %{name}w, [%p{name}];")?;
            writeln!(ptx, "    setp.ne.{ty} %{name}, %{name}w, 0;")?;
        } else {
            writeln!(ptx, "    ld.global.{} %{name}, [%p{name}];", operand.access())?;
        }
    }
    for line in core {
        writeln!(ptx, "{line}")?;
    }
    for result in stored() {
        writeln!(ptx, "    st.global.{} [%p{1}], %{1};", result.access(), result.name)?;
    }
    writeln!(ptx, "    ret;\n}}")
}
