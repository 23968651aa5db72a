//! Times as CLICS writes them: relative times `(-)H:MM:SS(.mmm)` and ISO 8601 instants, all held in milliseconds.

use jiff::Timestamp;

/// The longest relative time that is read: ten million hours. A judge with its clock at zero sends the time since 1970 as
/// contest time; such a submission is kept and explained (RULES 7), not refused as no time.
pub const RELATIVE_MAX_MS: i64 = 10_000_000 * 3_600_000;

/// The longest duration or penalty that is taken: 10,000 hours. Longer ones are mistakes, and sums stay far from overflow.
pub const DURATION_MAX_MS: i64 = 10_000 * 3_600_000;

/// Parses a relative time, `1:02:03.456` or `-0:15:00`. Digits beyond the millisecond are cut off.
pub fn parse_relative(text: &str) -> Option<i64> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut parts = rest.split(':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || minutes.len() != 2 {
        return None;
    }
    let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    if seconds.len() != 2 || fraction.is_empty() || fraction.len() > 9 || hours.len() > 8 {
        return None;
    }
    let number = |digits: &str| -> Option<i64> {
        digits
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| digits.parse().ok())?
    };
    let millis = number(&format!("{fraction:0<3}")[..3]).filter(|_| number(fraction).is_some())?;
    let (minutes, seconds) = (number(minutes)?, number(seconds)?);
    if minutes > 59 || seconds > 59 {
        return None;
    }
    let total = ((number(hours)? * 60 + minutes) * 60 + seconds) * 1000 + millis;
    (total <= RELATIVE_MAX_MS).then_some(if negative { -total } else { total })
}

/// Writes a relative time, `1:02:03.456`.
pub fn format_relative(millis: i64) -> String {
    let (sign, millis) = if millis < 0 {
        ("-", millis.unsigned_abs())
    } else {
        ("", millis.unsigned_abs())
    };
    let (hours, rest) = (millis / 3_600_000, millis % 3_600_000);
    format!(
        "{sign}{hours}:{:02}:{:02}.{:03}",
        rest / 60_000,
        rest / 1000 % 60,
        rest % 1000
    )
}

/// Parses an instant, `2024-11-17T01:00:00.000Z` or with an offset (`-05`, `+01:00`), to milliseconds since 1970 UTC.
pub fn parse_instant(text: &str) -> Option<i64> {
    text.parse::<Timestamp>()
        .ok()
        .map(Timestamp::as_millisecond)
}

/// Writes an instant in UTC with milliseconds.
pub fn format_instant(millis: i64) -> String {
    match Timestamp::from_millisecond(millis) {
        Ok(instant) => format!("{instant:.3}"),
        Err(_) => format_instant(0),
    }
}

/// Relative times in settings: text outside, milliseconds inside.
pub(super) mod relative {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error};

    #[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
    pub(crate) fn serialize<S: Serializer>(millis: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::format_relative(*millis))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        let text = String::deserialize(deserializer)?;
        super::parse_relative(&text).ok_or_else(|| {
            D::Error::custom(format!(
                "expected a relative time such as 1:02:03.456, got {text:?}"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_times_are_read_in_all_their_forms() {
        for (text, millis) in [
            ("0:00:00", 0),
            ("0:20:00.000", 1_200_000),
            ("00:05:29.204", 329_204),
            ("1:02:03.4", 3_723_400),
            ("100:00:00.0009", 360_000_000),
            ("-0:15:23.000", -923_000),
        ] {
            assert_eq!(parse_relative(text), Some(millis), "{text}");
        }
        for text in [
            "",
            "1",
            "20:00",
            "0:60:00",
            "0:00:60",
            "0:0:0",
            "0:00:00.",
            "1:00:00:00",
            "--0:00:01",
            "a:00:00",
            "0:00:0x",
            "0:00:00.x",
            "10000000:00:00.001",
            "٠:00:00",
            "+1:00:00",
            "0:+1:00",
        ] {
            assert_eq!(parse_relative(text), None, "{text}");
        }
        assert_eq!(format_relative(-923_004), "-0:15:23.004");
        assert_eq!(parse_relative(&format_relative(3_723_456)), Some(3_723_456));
    }

    #[test]
    fn instants_are_read_with_any_offset() {
        assert_eq!(parse_instant("1970-01-01T00:00:01Z"), Some(1000));
        assert_eq!(
            parse_instant("2023-02-25T14:00:00.004-05"),
            parse_instant("2023-02-25T19:00:00.004Z")
        );
        assert_eq!(
            parse_instant("2023-02-18T10:30:00.000+01:00"),
            parse_instant("2023-02-18T09:30:00.000Z")
        );
        assert_eq!(parse_instant("soon"), None);
        assert_eq!(format_instant(1500), "1970-01-01T00:00:01.500Z");
    }
}
