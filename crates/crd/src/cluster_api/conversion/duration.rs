//! Durations as the older versions write them: `1h30m`, `10s`, `1.5s`.

/// Whole seconds of a duration; what can't be read is none.
pub(super) fn seconds(text: &str) -> Option<i32> {
    let mut rest = text.trim();
    let mut total = 0.0_f64;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest.get(..end)?.parse().ok()?;
        rest = rest.get(end..)?;
        let end = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
        let scale = match rest.get(..end)? {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" | "μs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        total += number * scale;
        rest = rest.get(end..)?;
    }
    // What does not fit is as long as can be said.
    #[expect(clippy::cast_possible_truncation, reason = "it is cut off, and saturates")]
    Some(total as i32)
}

/// A duration of whole seconds, as it is usually written.
pub(super) fn text(seconds: i32) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, minutes) => format!("{minutes}m{rest}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{rest}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written() {
        for (text, expected) in [
            ("10s", Some(10)),
            ("1m30s", Some(90)),
            ("1h0m0s", Some(3600)),
            ("1.9s", Some(1)),
            ("1500ms", Some(1)),
            ("0s", Some(0)),
            ("", None),
            ("10", None),
            ("ten", None),
            ("1d", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
        for (seconds, expected) in [(0, "0s"), (59, "59s"), (90, "1m30s"), (3600, "1h0m0s")] {
            assert_eq!(text(seconds), expected);
        }
    }
}
