//! Against the C library's own `snprintf`, called by the C compiler that builds need anyway.

use std::convert::Infallible;
use std::io::Write as _;
use std::process::{Command, Stdio};

use super::*;

/// Values from a list; texts are looked up by their index plus one.
struct List {
    values: Vec<u64>,
    at: usize,
}

impl Values for List {
    type Error = Infallible;

    fn next(&mut self, bytes: u64) -> Result<u64, Infallible> {
        let value = self.values[self.at];
        self.at += 1;
        Ok(if bytes == 4 { value & 0xffff_ffff } else { value })
    }

    fn text(&mut self, address: u64) -> Result<Vec<u8>, Infallible> {
        Ok(TEXTS[address as usize - 1].as_bytes().to_vec())
    }
}

const TEXTS: [&str; 3] = ["", "abc", "a longer text"];

fn ours(format: &str, values: &[u64]) -> String {
    let mut out = Vec::new();
    let mut values = List { values: values.to_vec(), at: 0 };
    print(format.as_bytes(), &mut values, &mut out).unwrap();
    assert_eq!(values.at, values.values.len(), "{format} does not use all values");
    String::from_utf8(out).unwrap()
}

const FLOATS: [f64; 18] = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.1,
    123_456_789.125,
    1e-5,
    9.999_999e-5,
    999_999.5,
    0.5,
    2.5,
    1e22,
    1.797_693_134_862_315_7e308,
    5e-324,
    2.225_073_858_507_201e-308,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

const INTEGERS: [u64; 8] =
    [0, 1, 42, 0x7fff_ffff, 0x8000_0000, u64::MAX, 0x8000_0000_0000_0000, 0x1234_5678_9abc_def0];

/// Every conversion with flags, widths and precisions, and its values: the C expression of each
/// argument and its bits.
fn cases() -> Vec<(String, String, Vec<u64>)> {
    let mut cases = Vec::new();
    let flags = ["", "-", "+", " ", "0", "#", "-#", "+0", "#0", "-+"];
    let fields = ["", "1", "12", "20.0", ".0", ".3", "12.5", ".17", "3."];
    for flags in flags {
        for field in fields {
            for kind in ["f", "F", "e", "E", "g", "G", "a", "A"] {
                for value in FLOATS {
                    // glibc drops the zeros that `#` asks for when rounding carries into a new
                    // digit.
                    if flags.contains('#') && matches!(kind, "g" | "G") && value == 999_999.5 {
                        continue;
                    }
                    let bits = value.to_bits();
                    let format = format!("%{flags}{field}{kind}");
                    cases.push((format, format!("real({bits}ull)"), vec![bits]));
                }
            }
            for kind in ["d", "i", "u", "o", "x", "X", "hd", "hhu", "hhd", "hx"] {
                for value in INTEGERS {
                    let format = format!("%{flags}{field}{kind}");
                    cases.push((format, format!("(int){value}ull"), vec![value]));
                }
            }
            for kind in ["ld", "lld", "llu", "lx", "zu", "llo"] {
                for value in INTEGERS {
                    let format = format!("%{flags}{field}{kind}");
                    cases.push((format, format!("(long long){value}ull"), vec![value]));
                }
            }
        }
    }
    for field in ["", "10", "-10", ".2", "-7.1", "2"] {
        for (at, text) in TEXTS.iter().enumerate() {
            let values = vec![at as u64 + 1];
            cases.push((format!("[%{field}s]"), format!("\"{text}\""), values));
        }
        cases.push((format!("[%{field}c]"), "65".to_owned(), vec![65]));
    }
    cases.push(("%*d%%".to_owned(), "-6, 7".to_owned(), vec![-6i64 as u64, 7]));
    cases.push(("%.*f".to_owned(), "-1, 0.25".to_owned(), vec![u64::MAX, 0.25f64.to_bits()]));
    cases.push(("%-*.*s|".to_owned(), "6, 2, \"abc\"".to_owned(), vec![6, 2, 2]));
    cases
}

#[test]
fn output_is_that_of_the_c_library() {
    let cases = cases();
    let mut program = String::from(
        "#include <stdio.h>\n#include <string.h>\n\
         static double real(unsigned long long b) { double d; memcpy(&d, &b, 8); return d; }\n\
         int main(void) {\n",
    );
    for (format, argument, _) in &cases {
        program += &format!("printf(\"{format}\\n\", {argument});\n");
    }
    program += "return 0; }\n";
    let folder = tempfile::tempdir().unwrap();
    let binary = folder.path().join("reference");
    let compiler = Command::new("cc")
        .args(["-w", "-O0", "-x", "c", "-", "-o"])
        .arg(&binary)
        .stdin(Stdio::piped())
        .spawn();
    let mut compiler = compiler.expect("a C compiler is needed, as linking needs one");
    compiler.stdin.take().unwrap().write_all(program.as_bytes()).unwrap();
    assert!(compiler.wait().unwrap().success());
    let output = Command::new(&binary).output().unwrap().stdout;
    let expected = String::from_utf8(output).unwrap();
    let mut different = Vec::new();
    for ((format, argument, values), expected) in cases.iter().zip(expected.lines()) {
        let got = ours(format, values);
        if got != expected {
            different.push(format!("{format} of {argument}: {got:?}, not {expected:?}"));
        }
    }
    assert_eq!(expected.lines().count(), cases.len());
    let shown = &different[..different.len().min(20)];
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), shown.join("\n"));
}

#[test]
fn wrong_formats_are_told() {
    let wrong = |format: &str| {
        let mut values = List { values: vec![1; 9], at: 0 };
        print(format.as_bytes(), &mut values, &mut Vec::new()).unwrap_err()
    };
    assert_eq!(wrong("100%"), PrintError::Format("an unfinished conversion"));
    assert_eq!(wrong("%5l"), PrintError::Format("an unfinished conversion"));
    assert_eq!(wrong("%y"), PrintError::Format("an unknown conversion"));
    assert_eq!(wrong("%lld %hlld"), PrintError::Format("an unknown length"));
    assert_eq!(
        wrong("%99999999999d"),
        PrintError::Format("a width or precision that is too large")
    );
}
