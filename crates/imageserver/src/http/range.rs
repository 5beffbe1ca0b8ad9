//! The header `Range`: which bytes of a file are asked for.

use std::ops::Range;

/// Ranges that are answered one by one; who asks for more gets the whole file.
const MOST: usize = 256;

/// What a header asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RequestedRange {
    /// The whole file: no header, another unit, or ranges that are longer than the file together.
    All,
    /// One or several ranges, none of them empty.
    Ranges(Vec<Range<u64>>),
    /// Nothing that the file has, or no header that can be read.
    Nothing,
}

/// Reads the header for a file of `size` bytes.
pub(crate) fn parse(header: Option<&str>, size: u64) -> RequestedRange {
    let Some(header) = header else { return RequestedRange::All };
    let Some((unit, list)) = header.split_once('=') else { return RequestedRange::Nothing };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return RequestedRange::All;
    }
    let (mut ranges, mut total, mut outside) = (Vec::new(), 0u64, false);
    for text in list.split(',').map(str::trim).filter(|text| !text.is_empty()) {
        match one(text, size) {
            Err(Malformed) => return RequestedRange::Nothing,
            Ok(range) if range.is_empty() => outside = true,
            Ok(range) => {
                total = total.saturating_add(range.end - range.start);
                ranges.push(range);
            }
        }
    }
    if ranges.is_empty() {
        // Nothing is missing from an empty file.
        return if outside && size > 0 { RequestedRange::Nothing } else { RequestedRange::All };
    }
    if total > size || ranges.len() > MOST { RequestedRange::All } else { RequestedRange::Ranges(ranges) }
}

#[derive(Debug)]
struct Malformed;

/// One range, cut at the end of the file; empty when the file has none of it.
fn one(text: &str, size: u64) -> Result<Range<u64>, Malformed> {
    let (first, last) = text.split_once('-').ok_or(Malformed)?;
    let (first, last) = (first.trim(), last.trim());
    if first.is_empty() {
        let length = number(last)?;
        return Ok(size.saturating_sub(length)..size);
    }
    let first = number(first)?;
    let end = match last {
        "" => size,
        last => {
            let last = number(last)?;
            if last < first {
                return Err(Malformed);
            }
            last.saturating_add(1).min(size)
        }
    };
    Ok(first..end.max(first))
}

/// Digits only: no sign. More than fits is more than any file has.
fn number(text: &str) -> Result<u64, Malformed> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Malformed);
    }
    Ok(text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(header: &str) -> RequestedRange {
        parse(Some(header), 10)
    }

    #[test]
    fn the_forms_of_a_range() {
        let ranges = |list: &[(u64, u64)]| {
            RequestedRange::Ranges(list.iter().map(|(first, end)| *first..*end).collect())
        };
        assert_eq!(parse(None, 10), RequestedRange::All);
        for (header, wanted) in [
            ("bytes=0-0", ranges(&[(0, 1)])),
            ("bytes=2-", ranges(&[(2, 10)])),
            ("bytes=2-100", ranges(&[(2, 10)])),
            ("bytes=-3", ranges(&[(7, 10)])),
            ("bytes=-30", ranges(&[(0, 10)])),
            ("bytes=9-9", ranges(&[(9, 10)])),
            ("bytes=0-1, 4-5,,7-", ranges(&[(0, 2), (4, 6), (7, 10)])),
            ("bytes=0-1,20-", ranges(&[(0, 2)])),
            ("bytes=0-99999999999999999999999", ranges(&[(0, 10)])),
            ("bytes=0-,0-", RequestedRange::All),
            ("bytes=", RequestedRange::All),
            ("lines=0-1", RequestedRange::All),
            ("bytes=10-", RequestedRange::Nothing),
            ("bytes=99999999999999999999999-", RequestedRange::Nothing),
            ("bytes=-0", RequestedRange::Nothing),
            ("bytes=5-4", RequestedRange::Nothing),
            ("bytes=a-b", RequestedRange::Nothing),
            ("bytes=+1-2", RequestedRange::Nothing),
            ("bytes=-", RequestedRange::Nothing),
            ("bytes=1", RequestedRange::Nothing),
            ("bytes", RequestedRange::Nothing),
        ] {
            assert_eq!(parsed(header), wanted, "{header}");
        }
        assert_eq!(parse(Some("bytes=0-"), 0), RequestedRange::All);
        assert_eq!(parse(Some(&format!("bytes={}", "1-1,".repeat(MOST + 1))), 1 << 20), RequestedRange::All);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever is asked: ranges lie inside the file, hold something, and are not longer than it together.
        #[test]
        fn ranges_lie_inside_the_file(header in "(bytes=)?[-0-9, ]{0,40}", size in 0u64..2000) {
            if let RequestedRange::Ranges(ranges) = parse(Some(&header), size) {
                prop_assert!(!ranges.is_empty());
                prop_assert!(ranges.iter().all(|range| range.start < range.end && range.end <= size));
                prop_assert!(ranges.iter().map(|range| range.end - range.start).sum::<u64>() <= size);
            }
        }
    }
}
