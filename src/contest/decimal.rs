//! Scores as exact decimals: integers in millionths, never a float.

/// Decimals that are kept.
pub const SCALE: u8 = 6;

/// One point in millionths.
pub const ONE: i64 = 1_000_000;

/// The largest score, in points, that is taken; the sum of a thousand such problems is still exact.
pub const SCORE_MAX: i64 = 1_000_000_000;

/// Parses a JSON number (`12`, `-0.5`, `1e2`) to millionths. `None` if it is finer than that or beyond ±[`SCORE_MAX`].
pub fn parse(text: &str) -> Option<i64> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (
            mantissa,
            exponent.parse::<i32>().ok().filter(|e| e.abs() <= 40)?,
        ),
        None => (rest, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{whole}{fraction}");
    if whole.is_empty() || digits.len() > 40 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut value: i128 = digits
        .trim_start_matches('0')
        .parse()
        .or_else(|_| {
            // Nothing but zeros.
            if digits.bytes().all(|byte| byte == b'0') {
                Ok(0)
            } else {
                Err(())
            }
        })
        .ok()?;
    if value == 0 {
        return Some(0);
    }
    let mut shift = i32::from(SCALE) + exponent - fraction.len() as i32;
    while shift > 0 && value <= i128::from(i64::MAX) {
        value *= 10;
        shift -= 1;
    }
    while shift < 0 {
        if value % 10 != 0 {
            return None;
        }
        value /= 10;
        shift += 1;
    }
    let value = i64::try_from(value)
        .ok()
        .filter(|value| shift == 0 && *value <= SCORE_MAX * ONE)?;
    Some(if negative { -value } else { value })
}

/// How many decimals a value in millionths needs.
pub fn decimals(millionths: i64) -> u8 {
    (0..SCALE)
        .find(|scale| millionths % 10_i64.pow(u32::from(SCALE - scale)) == 0)
        .unwrap_or(SCALE)
}

/// A value in millionths at a coarser scale that holds it exactly.
pub fn at_scale(millionths: i64, scale: u8) -> i64 {
    millionths / 10_i64.pow(u32::from(SCALE - scale.min(SCALE)))
}

/// Writes an integer with a scale: `1250` at scale 2 is `12.5`.
pub fn format(value: i64, scale: u8) -> String {
    if scale == 0 {
        return value.to_string();
    }
    let unit = 10_u64.pow(u32::from(scale));
    let (sign, size) = if value < 0 {
        ("-", value.unsigned_abs())
    } else {
        ("", value.unsigned_abs())
    };
    let text = format!(
        "{sign}{}.{:0width$}",
        size / unit,
        size % unit,
        width = usize::from(scale)
    );
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        for (text, millionths) in [
            ("0", 0),
            ("0.0", 0),
            ("-0", 0),
            ("0e5", 0),
            ("100.0", 100_000_000),
            ("0.1", 100_000),
            ("33.333333", 33_333_333),
            ("1e2", 100_000_000),
            ("1.5E-2", 15_000),
            ("-2.50", -2_500_000),
            ("0.10000000000", 100_000),
            ("1000000000", SCORE_MAX * ONE),
        ] {
            assert_eq!(parse(text), Some(millionths), "{text}");
        }
        for text in [
            "",
            "-",
            ".5",
            "1e400",
            "0.0000001",
            "1000000001",
            "NaN",
            "inf",
            "0x10",
            "1e-7",
            "1 ",
            "99999999999999999999999999999999999999999999",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(
            (
                decimals(0),
                decimals(ONE),
                decimals(100_000),
                decimals(33_333_333)
            ),
            (0, 0, 1, 6)
        );
        assert_eq!(at_scale(2_500_000, 1), 25);
        assert_eq!(
            (
                format(1250, 2),
                format(-5, 1),
                format(0, 0),
                format(400, 0),
                format(10, 1),
                format(0, 2)
            ),
            (
                "12.5".into(),
                "-0.5".into(),
                "0".into(),
                "400".into(),
                "1".into(),
                "0".into()
            )
        );
    }
}
