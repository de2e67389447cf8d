//! Reading the rows' notation.
//!
//! A row is `mnemonic modifiers  operands ; since`, close to the manual's syntax boxes:
//!
//! | text | meaning |
//! |---|---|
//! | `.sat` | this modifier |
//! | `.[rn rz]` | one of these |
//! | `.<scope>` | one of a named set, see [`SETS`] |
//! | `{.x}` | any of the above, optional |
//! | `d:t` | operand `d` of the first modifier type; `u`, `v` for the second and third, `w` for twice the width of the first, or a fixed type; `ptr` for an integer of 32 or 64 bits |
//! | `d:t+` | a wider register will do |
//! | `a:b32*4`, `*vec`, `*num`, `*?` | four registers in braces; as the vector modifier says; as `.xN` says; any number |
//! | `d:t\|p`, `d:t{\|p}` | a predicate must or may follow after a bar |
//! | `a:u32.sel` | may select bytes or halves and be negated |
//! | `a:t@`, `a:t&` | anything that `mov` moves; a register or an address |
//! | `#n:u32` | a literal |
//! | `[a]`, `[a, c]` | an address; an object with coordinates; `[taddr]` is one in tensor memory |
//! | `[le, offset]`, `[le, offset, counter]` | memory across the fabric |
//! | `{, b:u32}` | optional operand |
//! | `(d)`, `label`, `targets`, `callee`, `calltargets` | as in `call` and `bra` |
//! | `; 7.0 sm_80` | since ISA 7.0 and on sm_80; 1.0 and sm_10 if left out; `sm_90a` marks an architecture-specific form |
//!
//! `d`, `p`, `q` are written; `acc` is read and written; every other name is read.

use super::form::{
    Access, Count, Form, OperandKind, OperandShape, PairResult, ShapeType, Slot, Target,
};
use super::rows::Group;
use super::{Modifier, Opcode};
use crate::types::ScalarType;

/// Named sets of modifiers.
const SETS: &[(&str, &str)] = &[
    ("rnd", "rn rz rm rp"),
    ("irnd", "rni rzi rmi rpi"),
    ("int", "u16 u32 u64 s16 s32 s64"),
    ("int8", "u8 u16 u32 u64 s8 s16 s32 s64"),
    ("bits", "b16 b32 b64"),
    ("any", "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"),
    ("mem", "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64 b128"),
    ("vec", "v2 v4 v8"),
    ("scope", "cta cluster gpu sys"),
    (
        "ldspace",
        "const global local param param::entry param::func shared shared::cta shared::cluster",
    ),
    ("stspace", "global local param param::func shared shared::cta shared::cluster"),
    ("atomspace", "global shared shared::cta shared::cluster"),
    ("shared", "shared shared::cta"),
    ("l1", "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate"),
    ("l2", "L2::evict_normal L2::evict_first L2::evict_last"),
    ("l2size", "L2::64B L2::128B L2::256B"),
    ("hint", "L2::cache_hint"),
    ("ldcop", "ca cg cs lu cv"),
    ("stcop", "wb cg cs wt"),
    ("sem", "relaxed acquire release acq_rel"),
    ("bool", "and or xor"),
    ("icmp", "eq ne lt le gt ge lo ls hi hs"),
    ("fcmp", "eq ne lt le gt ge equ neu ltu leu gtu geu num nan"),
    ("layout", "row col"),
    ("f8", "e4m3 e5m2"),
    ("f6f4", "e3m2 e2m3 e2m1"),
    ("f8x4", "e4m3x4 e5m2x4 e3m2x4 e2m3x4 e2m1x4 e2m1p4x4 ue8m0x4"),
    ("f8f6f4", "e4m3 e5m2 e3m2 e2m3 e2m1"),
    ("mbar", "mbarrier::complete_tx::bytes"),
    (
        "report",
        "mbarrier::report::disabled mbarrier::report::validity::per_16bytes::80000000 \
         mbarrier::report::validity::per_16bytes::8000 mbarrier::report::validity::per_16bytes::80 \
         mbarrier::report::validity::per_16bytes::8 mbarrier::report::validity::per_element::ff",
    ),
    ("multicast16", "multicast::cluster multicast::cluster::16b"),
    ("override", "override::global_address"),
    ("attributes", "override::global_dim override::global_dim_stride"),
    ("load_mode", "tile tile::gather4 im2col im2col::w im2col::w::128"),
    ("layout_of", "layout::v0 layout::v1"),
    ("spfactor", "sp::1:2 sp::1:4 sp::1:8 sp::1:16 sp::2:4 sp::2:8 sp::2:16 sp::4:8 sp::4:16"),
    ("group", "cta_group::1 cta_group::2"),
    ("dim", "1d 2d 3d 4d 5d"),
    ("xnum", "x1 x2 x4 x8 x16 x32 x64 x128"),
    ("scale_vec", "scale_vec::1X scale_vec::2X scale_vec::4X block16 block32"),
    (
        "collector_a",
        "collector::a::fill collector::a::use collector::a::lastuse collector::a::discard",
    ),
    ("collector_b", "@collector"),
    (
        "collector_one_b",
        "collector::b::fill collector::b::use collector::b::lastuse collector::b::discard",
    ),
    ("geom", "1d 2d 3d a1d a2d"),
    ("texgeom", "1d 2d 3d a1d a2d cube acube 2dms a2dms"),
    ("clamp", "trap clamp zero"),
    // Warpgroup shapes: `@k` stands for every `m64nNk` with N a multiple of eight up to 256.
    ("wg8", "@8"),
    ("wg16", "@16"),
    ("wg32", "@32"),
    ("wg32i", "@i32"),
    ("wg64", "@64"),
    ("wg64i", "@i64"),
    ("wg256", "@i256"),
];

/// Parses one row.
///
/// # Errors
///
/// Returns the fault of the row, for the table's self-check.
pub(super) fn parse(text: &'static str, group: &Group) -> Result<Form, String> {
    let (body, since) = text.split_once(';').unwrap_or((text, ""));
    let head = body.split(['{', ' ', '[', '<']).next().unwrap_or_default().trim_end_matches('.');
    let (opcode, length) = Opcode::from_prefix(head).ok_or("unknown mnemonic")?;
    let mut cursor = Cursor { rest: &body[length..] };
    let slots = cursor.slots()?;
    let operands = cursor.operands()?;
    let (min_isa, min_target) = parse_since(since)?;
    Ok(Form {
        opcode,
        slots,
        operands,
        min_isa,
        min_target,
        class: group.class,
        section: group.section,
        text,
    })
}

fn parse_since(text: &str) -> Result<((u8, u8), Target), String> {
    let mut isa = (1, 0);
    let mut target = Target { sm: 10, specific: false };
    for word in text.split_whitespace() {
        if let Some(sm) = word.strip_prefix("sm_") {
            let digits = sm.trim_end_matches(['a', 'f']);
            target.specific = digits.len() != sm.len();
            target.sm = digits.parse().map_err(|_| format!("bad target {word}"))?;
        } else {
            let (major, minor) = word.split_once('.').ok_or(format!("bad version {word}"))?;
            let number = |text: &str| text.parse().map_err(|_| format!("bad version {word}"));
            isa = (number(major)?, number(minor)?);
        }
    }
    Ok((isa, target))
}

/// The unread part of a row.
struct Cursor {
    rest: &'static str,
}

impl Cursor {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, prefix: &str) -> bool {
        self.rest.strip_prefix(prefix).map(|rest| self.rest = rest).is_some()
    }

    fn expect(&mut self, prefix: &str) -> Result<(), String> {
        if self.eat(prefix) {
            Ok(())
        } else {
            Err(format!("expected `{prefix}` at `{}`", self.rest))
        }
    }

    /// Everything up to the first character that is not part of a word.
    fn word(&mut self) -> &'static str {
        let end = self
            .rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// Letters and digits only, so that `d:t` ends before the colon.
    fn name(&mut self) -> &'static str {
        let end = self
            .rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn slots(&mut self) -> Result<Vec<Slot>, String> {
        let mut slots = Vec::new();
        loop {
            if self.eat(".") {
                slots.push(Slot { choices: self.choices()?, optional: false });
            } else if self.eat("{.") {
                slots.push(Slot { choices: self.choices()?, optional: true });
                self.expect("}")?;
            } else {
                return Ok(slots);
            }
        }
    }

    fn choices(&mut self) -> Result<Vec<Modifier>, String> {
        let words: Vec<String> = if self.eat("[") {
            let (inside, rest) = self.rest.split_once(']').ok_or("unclosed `[`")?;
            self.rest = rest;
            inside.split_whitespace().map(str::to_owned).collect()
        } else if self.eat("<") {
            let (inside, rest) = self.rest.split_once('>').ok_or("unclosed `<`")?;
            self.rest = rest;
            set(inside)?
        } else {
            vec![self.word().to_owned()]
        };
        words
            .iter()
            .map(|word| Modifier::from_text(word).ok_or(format!("unknown modifier `{word}`")))
            .collect()
    }

    fn operands(&mut self) -> Result<Vec<OperandShape>, String> {
        let mut operands: Vec<OperandShape> = Vec::new();
        loop {
            self.skip_space();
            if self.rest.is_empty() {
                return Ok(operands);
            }
            let optional = self.eat("{");
            self.skip_space();
            if !operands.is_empty() {
                // An optional first operand, as in `{(d),} callee`, brings its own comma.
                let _ = self.eat(",");
                self.skip_space();
            }
            let mut operand = self.operand()?;
            operand.optional = optional;
            if optional {
                let _ = self.eat(",");
                self.expect("}")?;
            }
            operands.push(operand);
        }
    }

    fn operand(&mut self) -> Result<OperandShape, String> {
        let mut shape = OperandShape {
            name: "",
            access: Access::Read,
            kind: OperandKind::Value,
            ty: ShapeType::None,
            wider: false,
            count: Count::One,
            pair: PairResult::None,
            optional: false,
            selectable: false,
        };
        if self.eat("[") {
            let (inside, rest) = self.rest.split_once(']').ok_or("unclosed `[`")?;
            self.rest = rest;
            let names: Vec<&str> = inside.split(',').map(str::trim).collect();
            shape.name = names.first().copied().unwrap_or_default();
            shape.kind = match names.len() {
                1 => OperandKind::Address,
                count if shape.name == "le" => OperandKind::Handle { counted: count == 3 },
                _ => OperandKind::Indexed,
            };
            return Ok(shape);
        }
        if self.eat("(") {
            shape.name = self.name();
            shape.kind = OperandKind::List;
            shape.access = access(shape.name);
            self.expect(")")?;
            return Ok(shape);
        }
        if self.eat("#") {
            shape.kind = OperandKind::Immediate;
        }
        shape.name = self.name();
        shape.access = access(shape.name);
        let bare = match shape.name {
            "label" => Some(OperandKind::Label),
            "targets" => Some(OperandKind::BranchTargets),
            "callee" => Some(OperandKind::Callee),
            "calltargets" => Some(OperandKind::CallTargets),
            _ => None,
        };
        if let Some(kind) = bare {
            shape.kind = kind;
            return Ok(shape);
        }
        self.expect(":")?;
        shape.ty = shape_type(self.name())?;
        loop {
            if self.eat("+") {
                shape.wider = true;
            } else if self.eat("@") {
                shape.kind = OperandKind::Any;
            } else if self.eat("&") {
                shape.kind = OperandKind::AddressValue;
            } else if self.eat(".sel") {
                shape.selectable = true;
            } else if self.eat("*?") {
                shape.count = Count::Any;
            } else if self.eat("*") {
                shape.count = match self.name() {
                    "vec" => Count::Vector,
                    "num" => Count::Matrices,
                    number => Count::Exactly(number.parse().map_err(|_| "bad count")?),
                };
            } else if self.eat("{|p}") {
                shape.pair = PairResult::Optional;
            } else if self.eat("|p") {
                shape.pair = PairResult::Required;
            } else {
                return Ok(shape);
            }
        }
    }
}

fn access(name: &str) -> Access {
    match name {
        "d" | "p" | "q" => Access::Write,
        "acc" => Access::ReadWrite,
        _ => Access::Read,
    }
}

fn shape_type(word: &str) -> Result<ShapeType, String> {
    Ok(match word {
        "t" => ShapeType::Modifier(0),
        "u" => ShapeType::Modifier(1),
        "v" => ShapeType::Modifier(2),
        "w" => ShapeType::Wide,
        "ptr" => ShapeType::Pointer,
        _ => ShapeType::Fixed(fixed_type(word)?),
    })
}

fn fixed_type(word: &str) -> Result<ScalarType, String> {
    Modifier::from_text(word).and_then(Modifier::as_type).ok_or(format!("unknown type `{word}`"))
}

/// The words of a named set. Warpgroup shapes are `m64nNkK` with N a multiple of eight.
fn set(name: &str) -> Result<Vec<String>, String> {
    let words = SETS.iter().find(|(known, _)| *known == name).ok_or(format!("no set `{name}`"))?.1;
    if words == "@collector" {
        let uses = ["fill", "use", "lastuse", "discard"];
        let buffers =
            (0..4).flat_map(|buffer| uses.map(|usage| format!("collector::b{buffer}::{usage}")));
        return Ok(buffers.collect());
    }
    // Integers and bits come in fewer widths: 8, 16, 24, 32, then every sixteenth.
    if let Some(k) = words.strip_prefix("@i") {
        let widths = (1..=32).filter(|&n| n <= 4 || n % 2 == 0);
        return Ok(widths.map(|n| format!("m64n{}k{k}", n * 8)).collect());
    }
    if let Some(k) = words.strip_prefix('@') {
        return Ok((1..=32).map(|n| format!("m64n{}k{k}", n * 8)).collect());
    }
    Ok(words.split_whitespace().map(str::to_owned).collect())
}
