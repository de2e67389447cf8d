//! Marks as commands of GitHub's workflows, which become annotations at their lines.
//!
//! The form is that of GitHub's page on workflow commands.

use std::fmt::Write as _;

use super::Mark;

/// A line for each mark.
pub(crate) fn text(marks: &[Mark]) -> String {
    let mut text = String::new();
    for Mark { title, message, file, line, .. } in marks {
        let line = line.map_or_else(String::new, |line| format!(",line={line}"));
        let title = property(&format!("gpucast: {title}"));
        let _ = writeln!(
            text,
            "::error file={}{line},title={title}::{}",
            property(file),
            data(message)
        );
    }
    text
}

/// A message: what would end it is written as its code.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property, which commas and colons would end, too.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_command_is_written_as_its_code() {
        let mark = Mark {
            title: "slower:5%".to_owned(),
            rule: "slower".to_owned(),
            message: "67.4 % slower:\nthe limit, is 5 %".to_owned(),
            file: "a,b:c.cu".to_owned(),
            line: Some(7),
        };
        assert_eq!(
            text(&[Mark { line: None, ..mark.clone() }, mark]),
            "::error file=a%2Cb%3Ac.cu,title=gpucast%3A slower%3A5%25::67.4 %25 slower:%0Athe limit, \
             is 5 %25\n::error file=a%2Cb%3Ac.cu,line=7,title=gpucast%3A slower%3A5%25::67.4 %25 \
             slower:%0Athe limit, is 5 %25\n"
        );
    }
}
