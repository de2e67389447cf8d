//! docs/evidence/figures.md.

/// The page as it grows.
pub(crate) struct Page {
    text: String,
}

/// A number that the thesis states, beside ours.
pub(crate) struct Line {
    /// What it is.
    pub(crate) quantity: String,
    /// Where the thesis states it.
    pub(crate) place: &'static str,
    /// The thesis's.
    pub(crate) stated: f64,
    /// Ours.
    pub(crate) ours: f64,
    /// Decimals that the thesis prints.
    pub(crate) decimals: usize,
    pub(crate) unit: &'static str,
}

impl Page {
    pub(crate) fn new() -> Self {
        let text = "# Figures of the thesis, drawn anew\n\n\
            Konstantinidis (2017) draws figures 3.5, 4.4, 4.6, 5.4 and 5.5 to 5.7 from measurements and from its \
            model. This page draws them from\nthe GPU files, the published counts and our executions. It \
            puts the numbers that the thesis's text and tables state beside ours. \
            `cargo run --release --example figures`\n(after `cargo build --release`) writes it, pictures and \
            numbers; each picture but 3.5 and 5.5 to 5.7 is one `gpucast plot quadrant-split …` away.\n";
        Self { text: text.to_owned() }
    }

    pub(crate) fn section(&mut self, title: &str, words: &str) {
        self.text += &format!("\n## {title}\n\n{words}\n");
    }

    pub(crate) fn section_text(&mut self, words: &str) {
        self.text += &format!("{words}\n");
    }

    pub(crate) fn picture(&mut self, file: &str, words: &str) {
        self.text += &format!("\n![{words}](../pictures/{file})\n");
    }

    /// A table of numbers side by side.
    pub(crate) fn table(&mut self, lines: &[Line]) {
        self.text += "\n| | thesis | stated in | ours | difference |\n|---|--:|---|--:|--:|\n";
        for line in lines {
            let decimals = line.decimals;
            let difference = line.ours / line.stated - 1.0;
            let equal =
                format!("{:.decimals$}", line.ours) == format!("{:.decimals$}", line.stated);
            let difference = match equal {
                true => "=".to_owned(),
                false => format!("{:+.2} %", 100.0 * difference).replace('-', "−"),
            };
            self.text += &format!(
                "| {}{} | {:.decimals$} | {} | {:.decimals$} | {difference} |\n",
                line.quantity,
                if line.unit.is_empty() { String::new() } else { format!(" ({})", line.unit) },
                line.stated,
                line.place,
                line.ours,
            );
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}
