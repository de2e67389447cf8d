//! Lines of a shell, as far as pages need them: words, quotes, comments, and where a command ends.

/// The commands of a line, each with its words. What a command writes into a file is left out: its
/// output goes nowhere here. A `|` within a word is a letter, as in `NAME|FILE`.
pub(super) fn commands(line: &str) -> Vec<Vec<String>> {
    let mut reader = Reader::default();
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            _ if reader.quote == Some(letter) => reader.quote = None,
            _ if reader.quote.is_some() => reader.letter(letter),
            '\'' | '"' => {
                reader.quote = Some(letter);
                reader.word.get_or_insert_default();
            }
            '$' if letters.peek() == Some(&'(') => {
                reader.letter(letter);
                reader.quote = Some(')');
            }
            '#' if reader.word.is_none() => break,
            '|' if reader.word.is_some() => reader.letter(letter),
            '>' => {
                reader.word_ends();
                reader.is_file = true;
            }
            ';' | '&' | '|' | '(' | ')' => reader.end(),
            letter if letter.is_whitespace() => reader.word_ends(),
            letter => reader.letter(letter),
        }
    }
    reader.end();
    reader.commands
}

#[derive(Default)]
struct Reader {
    commands: Vec<Vec<String>>,
    command: Vec<String>,
    word: Option<String>,
    quote: Option<char>,
    /// The next word is the file that an output goes to.
    is_file: bool,
}

impl Reader {
    fn letter(&mut self, letter: char) {
        self.word.get_or_insert_default().push(letter);
    }

    fn word_ends(&mut self) {
        let Some(word) = self.word.take() else { return };
        if !std::mem::take(&mut self.is_file) {
            self.command.push(word);
        }
    }

    fn end(&mut self) {
        self.word_ends();
        let command = std::mem::take(&mut self.command);
        self.commands.extend((!command.is_empty()).then_some(command));
    }
}

#[test]
fn lines_are_read_as_a_shell_reads_them() {
    for (line, expected) in [
        ("a  'b c' d=\"e f\" ''", "[[a] [b c] [d=e f] []]"),
        ("a -o x.svg   # why | not", "[[a] [-o] [x.svg]]"),
        ("a 'b # c' d#e", "[[a] [b # c] [d#e]]"),
        ("a > \"b c\" -d && e; f", "[[a] [-d]] [[e]] [[f]]"),
        ("a NAME|FILE.toml | b", "[[a] [NAME|FILE.toml]] [[b]]"),
        ("(cd x && a | b)", "[[cd] [x]] [[a]] [[b]]"),
        (
            "n=$(basename $a .tar) b '${ceil(n/256)}'",
            "[[n=$(basename $a .tar] [b] [${ceil(n/256)}]]",
        ),
    ] {
        let shown = |words: &Vec<String>| {
            let words: Vec<String> = words.iter().map(|word| format!("[{word}]")).collect();
            format!("[{}]", words.join(" "))
        };
        let found: Vec<String> = commands(line).iter().map(shown).collect();
        assert_eq!(found.join(" "), expected, "{line}");
    }
}
