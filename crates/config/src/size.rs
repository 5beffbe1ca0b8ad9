//! Sizes in bytes, as people write them: `2GiB`, `500MB`, `1048576`.

use crate::value::Value;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

const UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1000),
    ("B", 1),
];

impl Value for Size {
    const KIND: &'static str = "a size such as 2GiB, 500MB, or a number of bytes";

    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not {}", Self::KIND);
        let start = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at(start);
        let known = |(name, bytes): &(&str, u64)| unit.trim().eq_ignore_ascii_case(name).then_some(*bytes);
        let unit = if unit.is_empty() { Some(1) } else { UNITS.iter().find_map(known) };
        let number: u64 = number.parse().map_err(|_| wrong())?;
        number.checked_mul(unit.ok_or_else(wrong)?).map(Self).ok_or_else(wrong)
    }

    fn show(&self) -> String {
        let whole = |(_, bytes): &&(&str, u64)| self.0 > 0 && self.0.is_multiple_of(*bytes);
        match UNITS.iter().filter(|(_, bytes)| *bytes > 1).find(whole) {
            Some((name, bytes)) => format!("{}{name}", self.0 / bytes),
            None => self.0.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        for (text, bytes, shown) in [
            ("0", 0, "0"),
            ("2GiB", 2 << 30, "2GiB"),
            ("2 gib", 2 << 30, "2GiB"),
            ("500MB", 500_000_000, "500MB"),
            ("1048576", 1 << 20, "1MiB"),
            ("17B", 17, "17"),
        ] {
            let size = Size::parse(text).unwrap();
            assert_eq!((size.0, size.show().as_str()), (bytes, shown), "{text}");
            assert_eq!(Size::parse(&size.show()), Ok(size));
        }
        for text in ["", "GiB", "-1", "1.5GiB", "2GX", "99999999999TiB"] {
            assert!(Size::parse(text).is_err(), "{text}");
        }
    }
}
