//! Aligned columns of text.

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Rows with equally wide columns, two spaces apart, each line indented.
pub fn aligned(indent: usize, columns: &[Align], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns.len()).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = " ".repeat(indent);
        for (column, cell) in row.iter().enumerate() {
            let fill = " ".repeat(widths[column] - cell.chars().count());
            match columns[column] {
                Align::Left => line.extend([cell.as_str(), &fill]),
                Align::Right => line.extend([fill.as_str(), cell]),
            }
            line.push_str("  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A sentence in lines of at most `width` characters, each indented; `first` begins the first.
pub fn wrapped(first: &str, indent: usize, width: usize, sentence: &str) -> String {
    let mut text = String::new();
    let mut line = format!("{}{first}", " ".repeat(indent.saturating_sub(first.chars().count())));
    let mut empty = true;
    // A percent sign stays with its number.
    let sentence = sentence.replace(" %", "\u{a0}%");
    for word in sentence.split([' ', '\n']).filter(|word| !word.is_empty()) {
        if !empty && line.chars().count() + 1 + word.chars().count() > width {
            text.push_str(&line);
            text.push('\n');
            line = " ".repeat(indent);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    text.push_str(line.trim_end());
    text.push('\n');
    text.replace('\u{a0}', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "1", "x"], ["bcd", "1,000", ""]].map(|row| row.map(str::to_owned).into());
        let text = aligned(2, &[Align::Left, Align::Right, Align::Left], &rows);
        assert_eq!(text, "  a        1  x\n  bcd  1,000\n");
    }

    #[test]
    fn sentences_are_wrapped_and_indented() {
        assert_eq!(wrapped("- ", 4, 14, "one two three"), "  - one two\n    three\n");
        assert_eq!(wrapped("", 0, 9, "now at 10 %"), "now at\n10 %\n");
    }
}
