//! Durations as operators write them: a sum of numbers with units, such as `90s`, `1h30m` or `1.5h`.

use std::time::Duration;

const UNITS: &[(&str, f64)] =
    &[("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

/// Longest duration accepted: a century, far beyond any use and far below any overflow.
const LONGEST_SECONDS: f64 = 100.0 * 365.0 * 86400.0;

/// Parses a duration; `0` needs no unit.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let number: f64 = number.parse().map_err(|_| format!("{text:?} is not a duration"))?;
        let letters = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        let (_, factor) = UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(|| format!("{text:?} has no unit, or one that is not known"))?;
        seconds += number * factor;
        rest = tail;
    }
    if text.is_empty() || seconds > LONGEST_SECONDS {
        return Err(format!("{text:?} is not a usable duration"));
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("{text:?} is not a usable duration"))
}

/// Writes a duration in the largest units that divide it.
pub fn format_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if duration.subsec_nanos() != 0 {
        return format!("{}ms", duration.as_millis());
    }
    let mut text = String::new();
    for (amount, unit) in [(seconds / 3600, 'h'), (seconds / 60 % 60, 'm'), (seconds % 60, 's')] {
        if amount > 0 {
            text.push_str(&amount.to_string());
            text.push(unit);
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_units() {
        for (text, millis) in [
            ("0", 0),
            ("90s", 90_000),
            ("1h30m", 5_400_000),
            ("1.5h", 5_400_000),
            ("200ms", 200),
            ("1m0s", 60_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "5", "h", "5 m", "5x", "-3s", "1..5h", "9999999999999h", "1h-1m", "∞s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn written_in_the_largest_units() {
        for text in ["0s", "90ms", "3m", "1h30m", "24h", "1m30s"] {
            assert_eq!(format_duration(parse_duration(text).unwrap()), text);
        }
    }
}
