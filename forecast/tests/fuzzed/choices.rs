//! Files that are written by the choices that an input makes: they are nearly right, so that they
//! get past the parser.

use std::fmt::Write as _;

/// The bytes of an input as choices.
pub(super) struct Choices<'a>(pub(super) &'a [u8]);

impl Choices<'_> {
    /// A number below `limit`; 0 when the input is used up.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(first) % limit.max(1)
    }

    fn pick<'t>(&mut self, among: &[&'t str]) -> &'t str {
        among[self.below(among.len())]
    }

    fn is_so(&mut self) -> bool {
        self.below(2) == 1
    }

    /// A number, or what stands in its place.
    fn number(&mut self) -> &'static str {
        self.pick(&[
            "1",
            "4",
            "0",
            "7",
            "32",
            "1024",
            "4294967295",
            "4294967296",
            "9223372036854775807",
            "-1",
            "0.5",
            "1e308",
            "nan",
            "true",
            "\"x\"",
            "\"${n}\"",
            "\"${n / 0}\"",
            "\"${n * 4294967295}\"",
            "[]",
        ])
    }

    fn numbers(&mut self, most: usize) -> String {
        let numbers: Vec<&str> = (0..self.below(most + 1)).map(|_| self.number()).collect();
        format!("[{}]", numbers.join(", "))
    }

    fn extent(&mut self) -> String {
        match self.below(4) {
            0 => self.numbers(4),
            _ => format!("[{}, {}, {}]", self.number(), self.number(), self.number()),
        }
    }

    fn ty(&mut self) -> &'static str {
        self.pick(&["f32", "u8", "s16", "u32", "f64", "b64", "f16", "bf16", "e4m3", "pred", ""])
    }

    fn init(&mut self) -> String {
        match self.below(8) {
            0 => "\"zero\"".to_owned(),
            1 => "\"iota\"".to_owned(),
            2 => format!("{{ constant = {} }}", self.number()),
            3 => format!("{{ values = {} }}", self.numbers(6)),
            4 => {
                let [low, high, seed] = [(); 3].map(|()| self.number());
                format!("{{ uniform = {{ low = {low}, high = {high}, seed = {seed} }} }}")
            }
            5 => {
                let name = self.pick(&["qcd-columns", "none", ""]);
                format!("{{ generator = {{ name = \"{name}\", shape = {} }} }}", self.numbers(5))
            }
            6 => format!("{{ file = \"{}\" }}", self.path()),
            _ => "{}".to_owned(),
        }
    }

    fn path(&mut self) -> &'static str {
        self.pick(&["a.npy", "a.bin", "", "/dev/zero", "..", "../../etc/hostname", "-x.cu", "@a"])
    }

    fn argument(&mut self, depth: usize) -> String {
        match self.below(7) {
            0 => "\"a\"".to_owned(),
            1 => format!("\"b+{}\"", self.pick(&["0", "4", "-4", "18446744073709551616"])),
            2 => format!("{{ {} = {} }}", self.ty(), self.number()),
            3 if depth < 3 => {
                let members: Vec<String> =
                    (0..self.below(4)).map(|_| self.argument(depth + 1)).collect();
                format!("{{ struct = [{}] }}", members.join(", "))
            }
            4 => format!("{{ bytes = \"{}\" }}", self.pick(&["0x00ff", "0x0", "", "00", "0xg0"])),
            5 => {
                let (shape, sizes) = (self.numbers(5), self.numbers(5));
                format!("{{ tensor_map = {{ buffer = \"a\", shape = {shape}, box = {sizes} }} }}")
            }
            _ => "{ texture = \"t\" }".to_owned(),
        }
    }
}

/// A launch file of buffers, textures, launches and expectations.
pub(super) fn launch_file(choices: &mut Choices<'_>) -> String {
    let mut text = "module = \"module.ptx\"\n".to_owned();
    if choices.is_so() {
        let _ = writeln!(text, "l2 = \"{}\"", choices.pick(&["cold", "keep", "warm", "hot"]));
    }
    let _ = writeln!(text, "[parameters]\nn = {}", choices.number());
    for name in ["a", "b"] {
        let (ty, len) = (choices.ty(), choices.number());
        let _ = writeln!(text, "[buffers.{name}]\ntype = \"{ty}\"\nlen = {len}");
        if choices.is_so() {
            let _ = writeln!(text, "init = {}", choices.init());
        }
    }
    if choices.is_so() {
        let (ty, init) = (choices.ty(), choices.init());
        let _ = writeln!(text, "[symbols.s]\ntype = \"{ty}\"\ninit = {init}");
    }
    if choices.is_so() {
        let (width, height) = (choices.number(), choices.number());
        let _ = writeln!(text, "[textures.t]\nbuffer = \"a\"\nwidth = {width}\nheight = {height}");
    }
    for _ in 0..=choices.below(2) {
        let (grid, block) = (choices.extent(), choices.extent());
        let _ = writeln!(text, "[[launch]]\nkernel = \"k\"\ngrid = {grid}\nblock = {block}");
        if choices.is_so() {
            let _ = writeln!(text, "cluster = {}", choices.extent());
        }
        for key in ["shared_bytes", "repeat"] {
            if choices.is_so() {
                let _ = writeln!(text, "{key} = {}", choices.number());
            }
        }
        let arguments: Vec<String> = (0..choices.below(4)).map(|_| choices.argument(0)).collect();
        let _ = writeln!(text, "args = [{}]", arguments.join(", "));
    }
    if choices.is_so() {
        let values = choices.numbers(4);
        let _ = writeln!(text, "[[expect]]\nbuffer = \"a\"\nvalues = {values}");
    }
    text
}

/// A project file of defaults, GPUs and kernels.
pub(super) fn project_file(choices: &mut Choices<'_>) -> String {
    let mut text = String::new();
    for table in ["[defaults]", "[defaults.predict]", "[defaults.\"sweep plan\"]"] {
        if choices.is_so() {
            let _ = writeln!(text, "{table}");
            for key in ["gpu", "ptxas", "output", "count_on", "\"\"", "\u{e9}"] {
                if choices.is_so() {
                    let value = choices.number();
                    let key = if key.is_ascii() { key } else { "\"\u{e9}\"" };
                    let _ = writeln!(text, "{key} = {value}");
                }
            }
        }
    }
    let _ = writeln!(text, "[gpus]\nnext = \"{}\"", choices.path());
    for name in ["k", "\"a b\"", "\"a.b\"", "\"\""] {
        if choices.is_so() {
            let (source, grid) = (choices.path(), choices.numbers(4));
            let _ = writeln!(text, "[kernels.{name}]\nsource = \"{source}\"\ngrid = {grid}");
            if choices.is_so() {
                let _ = writeln!(text, "param = {{ n = {} }}", choices.number());
            }
        }
    }
    text
}
