//! The languages in which a task is told.

/// Declares the languages once, with the code by which files, options and pages name each.
macro_rules! languages {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)+) => {
        /// A language in which a task is told.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Language {
            $($(#[$doc])* $name),+
        }

        impl Language {
            /// All languages.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// Its code by ISO 639-1.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self {
                    $(Self::$name => $code),+
                }
            }
        }
    };
}

languages! {
    /// English.
    #[default]
    English = "en",
    /// German.
    German = "de",
}

impl Language {
    /// The language of a code. `None` if there is none.
    #[must_use]
    pub fn of_code(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|language| language.code() == code)
    }

    /// A number as people of the language write it, of one with a point and commas.
    #[must_use]
    pub fn number(self, number: &str) -> String {
        match self {
            Self::English => number.to_owned(),
            Self::German => number
                .chars()
                .map(|letter| match letter {
                    '.' => ',',
                    ',' => '.',
                    other => other,
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_signs_of_the_language() {
        assert_eq!(Language::English.number("1,048,576.5"), "1,048,576.5");
        assert_eq!(Language::German.number("1,048,576.5"), "1.048.576,5");
    }

    #[test]
    fn a_code_names_its_language() {
        for language in Language::ALL {
            assert_eq!(Language::of_code(language.code()), Some(*language));
        }
        assert_eq!(Language::of_code("tlh"), None);
    }
}
