//! The word that a client must know.

use std::fmt;

/// A secret that requests carry as `Authorization: Bearer …`.
#[derive(Clone)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Bytes of a token that is made here.
const BYTES: usize = 32;
/// A shorter one could be guessed.
const SHORTEST: usize = 16;

impl Token {
    /// A token that nobody can guess.
    ///
    /// # Errors
    ///
    /// The system gives no random bytes.
    pub fn random() -> Result<Self, String> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(|error| format!("no random bytes: {error}"))?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// A given token.
    ///
    /// # Errors
    ///
    /// It is shorter than 16 characters, or a header cannot carry it.
    pub fn given(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.len() < SHORTEST {
            return Err(format!("a token has at least {SHORTEST} characters"));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("a token has letters, digits and signs of ASCII alone".to_owned());
        }
        Ok(Self(text.to_owned()))
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Returns true for the value of an `Authorization` header with this token. The time that it
    /// takes says nothing of how much agrees.
    pub(crate) fn is_in(&self, header: Option<&[u8]>) -> bool {
        const SCHEME: &[u8] = b"bearer ";
        let Some((scheme, given)) = header.and_then(|h| h.split_at_checked(SCHEME.len())) else {
            return false;
        };
        let own = self.0.as_bytes();
        let differing = own.iter().zip(given).fold(0, |all, (a, b)| all | (a ^ b));
        scheme.eq_ignore_ascii_case(SCHEME) && given.len() == own.len() && differing == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_token_is_asked_for() {
        let token = Token::given("0123456789abcdef").unwrap();
        for right in ["Bearer 0123456789abcdef", "bearer 0123456789abcdef"] {
            assert!(token.is_in(Some(right.as_bytes())), "{right}");
        }
        for wrong in [
            "",
            "Bearer",
            "Bearer ",
            "Bearer 0123456789abcde",
            "Bearer 0123456789abcdef0",
            "Bearer 0123456789abcdeF",
            "Basic 0123456789abcdef",
            "0123456789abcdef",
        ] {
            assert!(!token.is_in(Some(wrong.as_bytes())), "{wrong}");
        }
        assert!(!token.is_in(None));
        assert!(Token::given("short").is_err() && Token::given("0123456789 abcdef").is_err());
        assert_ne!(Token::random().unwrap().text(), Token::random().unwrap().text());
    }
}
