//! The set of checks to make.

use std::fmt;
use std::str::FromStr;

/// One kind of check; the name of the `compute-sanitizer` tool that does the like is beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Check {
    /// Accesses out of bounds or misaligned (memcheck).
    Memory,
    /// Accesses of several threads that nothing orders (racecheck).
    Race,
    /// Reads of memory that nothing has written (initcheck).
    Init,
    /// Barriers and masks that do not fit the threads that use them (synccheck).
    Sync,
}

impl Check {
    /// All checks.
    pub const ALL: [Self; 4] = [Self::Memory, Self::Race, Self::Init, Self::Sync];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Race => "race",
            Self::Init => "init",
            Self::Sync => "sync",
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks(u8);

impl Checks {
    /// Every check.
    #[must_use]
    pub fn all() -> Self {
        Check::ALL.into_iter().collect()
    }

    /// Returns true if a check is in the set.
    #[must_use]
    pub const fn has(self, check: Check) -> bool {
        self.0 >> check as u8 & 1 != 0
    }
}

impl FromIterator<Check> for Checks {
    fn from_iter<I: IntoIterator<Item = Check>>(checks: I) -> Self {
        Self(checks.into_iter().fold(0, |set, check| set | 1 << check as u8))
    }
}

/// No check has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no check `{0}`; there are memory, race, init, sync, and all of them with all")]
pub struct UnknownCheck(String);

impl FromStr for Checks {
    type Err = UnknownCheck;

    /// A list of names with commas between them, or `all`.
    fn from_str(text: &str) -> Result<Self, UnknownCheck> {
        let mut set = Self::default();
        for name in text.split(',').map(str::trim) {
            set.0 |= match Check::ALL.into_iter().find(|check| check.name() == name) {
                Some(check) => 1 << check as u8,
                None if name == "all" => Self::all().0,
                None => return Err(UnknownCheck(name.to_owned())),
            };
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_make_sets_and_others_are_refused() {
        let set: Checks = "race, sync".parse().unwrap();
        assert_eq!(Check::ALL.map(|check| set.has(check)), [false, true, false, true]);
        assert_eq!("all".parse(), Ok(Checks::all()));
        for wrong in ["", "races", "race,", "memory;init"] {
            assert!(wrong.parse::<Checks>().is_err(), "{wrong}");
        }
    }
}
