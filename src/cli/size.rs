//! Sizes of memory as people write them: `65536`, `64KiB`, `1.5 GiB`.

/// Bytes; without a unit the number is one of bytes. `KB`, `MB` and `GB` are powers of ten, `KiB`,
/// `MiB` and `GiB` powers of two.
///
/// # Errors
///
/// If it is no whole number of bytes, or more than 2⁶⁴ − 1 of them.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.find(|character: char| !(character.is_ascii_digit() || character == '.'));
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        _ => return Err(format!("`{text}` is no size; write bytes, or 64KiB, 8MiB, 1GiB")),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(|| format!("{text} is impossibly large"));
    }
    // Every fraction that is a whole number of bytes is exact in binary64 up to 2⁵³ bytes.
    const EXACT: f64 = (1_u64 << 53) as f64;
    match number.parse::<f64>().map(|value| value * factor as f64) {
        Ok(value) if value.fract() == 0.0 && value <= EXACT => Ok(value as u64),
        _ => Err(format!("`{text}` is not a whole number of bytes")),
    }
}

/// The same where 32 bits hold the size.
pub(crate) fn bytes_of_stack(text: &str) -> Result<u32, String> {
    u32::try_from(bytes(text)?).map_err(|_| "a stack has less than 4 GiB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_and_decimal_units_are_told_apart() {
        let of = |text| bytes(text).expect("it is a size");
        assert_eq!(["8388608", "8 MiB", "8192kib", "8388608B"].map(of), [8_388_608; 4]);
        assert_eq!(["16KB", "1.5 KiB", "2GB", "0"].map(of), [16_000, 1536, 2_000_000_000, 0]);
    }

    #[test]
    fn what_is_no_whole_number_of_bytes_is_refused() {
        for text in [
            "",
            "x",
            "-1",
            "1.5",
            "0.3KiB",
            "MiB",
            "8 M",
            "1e3",
            "18446744073709551616",
            "99999999999GiB",
        ] {
            assert!(bytes(text).is_err(), "{text}");
        }
        assert_eq!(bytes_of_stack("4GiB"), Err("a stack has less than 4 GiB".to_owned()));
        assert_eq!(bytes_of_stack("64KiB"), Ok(65_536));
    }
}
