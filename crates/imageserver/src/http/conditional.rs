//! Conditional requests: whether a client has what it asks for already, and whether what it has is still the same.

use std::time::{Duration, SystemTime};

use http::header::{IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE};
use http::{HeaderName, Method};

use super::Head;

/// What differs between two states of a file.
#[derive(Clone, Debug)]
pub(crate) struct Validators {
    /// Strong, with its quotes.
    pub etag: String,
    /// When it changed last.
    pub modified: SystemTime,
}

/// What the conditions of a request come to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Precondition {
    /// Answer; the header `Range` counts or not.
    Go { range: bool },
    /// The client has it.
    NotModified,
    /// It is not what the client thinks.
    Failed,
}

/// Weighs the conditions in the order of RFC 9110 §13.2.2.
pub(crate) fn check(head: &Head, now: &Validators) -> Precondition {
    let safe = matches!(head.method, Method::GET | Method::HEAD);
    match tags(head, &IF_MATCH) {
        Some(tags) if !tags.iter().any(|tag| *tag == "*" || *tag == now.etag) => return Precondition::Failed,
        Some(_) => {}
        None if date(head, &IF_UNMODIFIED_SINCE)
            .is_some_and(|date| seconds(now.modified) > seconds(date)) =>
        {
            return Precondition::Failed;
        }
        None => {}
    }
    match tags(head, &IF_NONE_MATCH) {
        Some(tags) => {
            let weak = |tag: &&str| tag.strip_prefix("W/").unwrap_or(tag) == now.etag;
            if tags.iter().any(|tag| *tag == "*" || weak(tag)) {
                return if safe { Precondition::NotModified } else { Precondition::Failed };
            }
        }
        None if safe
            && date(head, &IF_MODIFIED_SINCE).is_some_and(|date| seconds(now.modified) <= seconds(date)) =>
        {
            return Precondition::NotModified;
        }
        None => {}
    }
    Precondition::Go { range: same(head, now) }
}

/// Whether a range may be answered: without `If-Range`, or when what it names is exactly what there is.
fn same(head: &Head, now: &Validators) -> bool {
    let Some(value) = head.headers.get(IF_RANGE) else { return true };
    let Ok(value) = value.to_str() else { return false };
    if value.starts_with('"') || value.starts_with("W/") {
        return value.trim() == now.etag;
    }
    httpdate::parse_http_date(value.trim()).is_ok_and(|date| seconds(date) == seconds(now.modified))
}

/// The tags of a header; none when it is not there.
fn tags<'a>(head: &'a Head, name: &HeaderName) -> Option<Vec<&'a str>> {
    // Our tags hold no comma.
    let all = head.headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    let tags: Vec<_> = all.flat_map(|value| value.split(',')).map(str::trim).collect();
    (!tags.is_empty()).then_some(tags)
}

fn date(head: &Head, name: &HeaderName) -> Option<SystemTime> {
    httpdate::parse_http_date(head.text(name)?).ok()
}

/// Headers have whole seconds.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::head::parse;

    const THEN: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
    const AFTER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

    fn verdict(method: &str, headers: &[(&str, &str)]) -> Precondition {
        let mut text = format!("{method} / HTTP/1.1\r\nHost: h\r\n");
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        let (head, _) = parse(format!("{text}\r\n").as_bytes()).unwrap().unwrap();
        // Half a second, which no header can express.
        let modified = httpdate::parse_http_date(THEN).unwrap() + Duration::from_millis(500);
        check(&head, &Validators { etag: "\"abc\"".to_owned(), modified })
    }

    #[test]
    fn conditions() {
        use Precondition::{Failed, Go, NotModified};
        let (with, without) = (|| Go { range: true }, || Go { range: false });
        for (headers, expected) in [
            ([].as_slice(), with()),
            (&[("If-Match", "*")], with()),
            (&[("If-Match", "\"x\", \"abc\"")], with()),
            (&[("If-Match", "\"x\"")], Failed),
            (&[("If-Match", "W/\"abc\"")], Failed),
            (&[("If-Unmodified-Since", THEN)], with()),
            (&[("If-Unmodified-Since", BEFORE)], Failed),
            (&[("If-Unmodified-Since", BEFORE), ("If-Match", "*")], with()),
            (&[("If-None-Match", "*")], NotModified),
            (&[("If-None-Match", "W/\"abc\"")], NotModified),
            (&[("If-None-Match", "\"x\""), ("If-Modified-Since", AFTER)], with()),
            (&[("If-Modified-Since", THEN)], NotModified),
            (&[("If-Modified-Since", AFTER)], NotModified),
            (&[("If-Modified-Since", BEFORE)], with()),
            (&[("If-Modified-Since", "nonsense")], with()),
            (&[("If-Range", THEN)], with()),
            (&[("If-Range", AFTER)], without()),
            (&[("If-Range", BEFORE)], without()),
            (&[("If-Range", "\"abc\"")], with()),
            (&[("If-Range", "W/\"abc\"")], without()),
            (&[("If-Range", "\"x\"")], without()),
            (&[("If-Range", "nonsense")], without()),
        ] {
            assert_eq!(verdict("GET", headers), expected, "{headers:?}");
        }
        assert_eq!(verdict("POST", &[("If-Modified-Since", AFTER)]), with());
        assert_eq!(verdict("POST", &[("If-None-Match", "*")]), Failed);
    }
}
