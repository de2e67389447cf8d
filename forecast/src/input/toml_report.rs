//! Errors of TOML files in the words of their users.

use crate::failure::{Report, SourceText, suggest};

/// An example for each mandatory key.
const EXAMPLES: [(&str, &str); 15] = [
    ("source", "source = \"kernel.cu\", the module, container or launch file"),
    ("module", "module = \"kernel.ptx\", the PTX file"),
    ("type", "type = \"f32\", the type of the elements"),
    ("len", "len = 1024, the number of elements"),
    ("init", "init = { values = [1.0, 2.0] }, the contents"),
    ("width", "width = 1024, the texels of a row"),
    ("kernel", "kernel = \"name\", the kernel of the module"),
    ("grid", "grid = [x, y, z], the blocks"),
    ("block", "block = [x, y, z], the threads of a block"),
    ("buffer", "buffer = \"name\", the buffer to check"),
    ("low", "low = 0.0, the least value"),
    ("high", "high = 1.0, the greatest value"),
    ("seed", "seed = 1, which tells one stream of numbers from another"),
    ("name", "name = \"qcd-columns\", one of the corpus's generators"),
    ("shape", "shape = [8, 8, 8, 8], what the generator is to make"),
];

/// An error of a file's shape, at its place.
pub fn toml_report(source: &SourceText, error: &toml::de::Error) -> Report {
    let range = error.span().unwrap_or(0..0);
    let (message, hint) = in_our_words(error.message());
    source.report(range, message).maybe_hint(hint)
}

/// `serde` speaks of fields and variants; a launch file has keys and values.
fn in_our_words(message: &str) -> (String, Option<String>) {
    // The second line of a parser's message names the expected text.
    let (first, second) = message.split_once('\n').unwrap_or((message, ""));
    let mut quoted = first.split('`').skip(1).step_by(2);
    let name = quoted.next().unwrap_or_default();
    let (message, hint) = if first.starts_with("unknown field") {
        (format!("there is no key `{name}` here"), suggest(name, quoted))
    } else if first.starts_with("unknown variant") {
        (format!("`{name}` is not among the words that may stand here"), suggest(name, quoted))
    } else if first.starts_with("missing field") {
        let hint = EXAMPLES.iter().find(|(key, _)| *key == name);
        (format!("the key `{name}` is missing"), hint.map(|(_, example)| format!("add {example}")))
    } else if first.starts_with("invalid length") {
        (first.to_owned(), Some("grid, block and cluster are [x, y, z]".to_owned()))
    } else if first.ends_with("expected u32") {
        (first.to_owned(), Some("it is a whole number from 0 to 4294967295".to_owned()))
    } else if first.ends_with("expected u64") {
        (first.to_owned(), Some("it is a whole number that is not negative".to_owned()))
    } else {
        let second = second.trim();
        (first.to_owned(), (!second.is_empty()).then(|| second.to_owned()))
    };
    (message, hint)
}
