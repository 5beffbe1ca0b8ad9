//! A file as an answer: whole, in ranges, or not at all when the client has it (image-service §1.9).

use std::ops::Range;
use std::time::SystemTime;

use assisted_isokit::Layout;
use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_RANGE, CONTENT_TYPE, ETAG, LAST_MODIFIED, RANGE,
};
use http::{HeaderValue, StatusCode};

use super::conditional::{self, Precondition, Validators};
use super::range::{self, RequestedRange};
use super::{Answer, Arrival, Head};

const BINARY: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// Between the parts of an answer with several ranges. Part of no text that anybody has to search: parts have lengths.
const BOUNDARY: &str = "4f0b6d1ae2c94875a3d05e8b7196c2fd3ea841";

/// A file to be served.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    pub layout: Layout,
    pub validators: Validators,
    /// `Last-Modified` as the origin gave it; none: made from the validators.
    pub last_modified: Option<HeaderValue>,
    /// What the file is called.
    pub name: String,
    /// When parts of it are still on their way.
    pub arrival: Option<Arrival>,
}

impl Content {
    /// Answers a request for it.
    pub fn answer(self, head: &Head) -> Answer {
        let mut answer = Answer::default();
        let modified = self.last_modified.clone().or_else(|| date(self.validators.modified));
        let tag = HeaderValue::from_str(&self.validators.etag).ok();
        for (name, value) in [(LAST_MODIFIED, modified), (ETAG, tag)] {
            if let Some(value) = value {
                answer.headers.insert(name, value);
            }
        }
        let wanted = match conditional::check(head, &self.validators) {
            Precondition::NotModified => {
                answer.status = StatusCode::NOT_MODIFIED;
                return answer;
            }
            Precondition::Failed => {
                answer.status = StatusCode::PRECONDITION_FAILED;
                return answer;
            }
            Precondition::Go { range: false } => RequestedRange::All,
            Precondition::Go { range: true } => range::parse(head.text(&RANGE), self.layout.len()),
        };
        let size = self.layout.len();
        let disposition = HeaderValue::from_str(&format!("attachment; filename={}", self.name));
        if let Ok(disposition) = disposition {
            answer.headers.insert(CONTENT_DISPOSITION, disposition);
        }
        answer.headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        let ranges = match wanted {
            RequestedRange::Nothing => {
                let mut refused =
                    Answer::line(StatusCode::RANGE_NOT_SATISFIABLE, "invalid range: failed to overlap");
                insert(&mut refused, CONTENT_RANGE, &format!("bytes */{size}"));
                return refused;
            }
            RequestedRange::All => {
                answer.headers.insert(CONTENT_TYPE, BINARY);
                answer.body = self.layout;
                answer.arrival = self.arrival;
                return answer;
            }
            RequestedRange::Ranges(ranges) => ranges,
        };
        answer.status = StatusCode::PARTIAL_CONTENT;
        answer.arrival = self.arrival;
        if let [range] = ranges.as_slice() {
            answer.headers.insert(CONTENT_TYPE, BINARY);
            insert(&mut answer, CONTENT_RANGE, &content_range(range, size));
            answer.body = self.layout.part(range.clone());
        } else {
            insert(&mut answer, CONTENT_TYPE, &format!("multipart/byteranges; boundary={BOUNDARY}"));
            answer.body = multipart(&self.layout, &ranges);
        }
        answer
    }
}

fn insert(answer: &mut Answer, name: http::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers.insert(name, value);
    }
}

fn date(time: SystemTime) -> Option<HeaderValue> {
    HeaderValue::from_str(&httpdate::fmt_http_date(time)).ok()
}

fn content_range(range: &Range<u64>, size: u64) -> String {
    format!("bytes {}-{}/{size}", range.start, range.end - 1)
}

/// Several ranges, each below a head of its own.
fn multipart(layout: &Layout, ranges: &[Range<u64>]) -> Layout {
    let mut body = Layout::default();
    let mut lead = "";
    for range in ranges {
        let head = format!(
            "{lead}--{BOUNDARY}\r\nContent-Range: {}\r\nContent-Type: application/octet-stream\r\n\r\n",
            content_range(range, layout.len())
        );
        body.push(Bytes::from(head));
        layout.slice(range.clone()).for_each(|extent| body.push(extent));
        lead = "\r\n";
    }
    body.push(Bytes::from(format!("\r\n--{BOUNDARY}--\r\n")));
    body
}

#[cfg(test)]
mod tests {
    use assisted_isokit::{Extent, ReadAt};

    use super::*;
    use crate::http::head::parse;

    fn ask(headers: &str) -> (Answer, Vec<u8>) {
        let text = format!("GET / HTTP/1.1\r\nHost: h\r\n{headers}\r\n");
        let (head, _) = parse(text.as_bytes()).unwrap().unwrap();
        let mut layout = Layout::from(Extent::from(b"0123".to_vec()));
        layout.push(Extent::zeros(2));
        layout.push(b"6789".to_vec());
        let validators = Validators { etag: "\"t\"".to_owned(), modified: SystemTime::UNIX_EPOCH };
        let content =
            Content { layout, validators, last_modified: None, name: "x.iso".to_owned(), arrival: None };
        let answer = content.answer(&head);
        let mut body = vec![1; answer.body.len() as usize];
        answer.body.read_exact_at(&mut body, 0).unwrap();
        (answer, body)
    }

    fn header(answer: &Answer, name: &str) -> String {
        answer.headers.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
    }

    #[test]
    fn whole() {
        let (answer, body) = ask("");
        assert_eq!((answer.status.as_u16(), body.as_slice()), (200, b"0123\0\x006789".as_slice()));
        assert_eq!(header(&answer, "content-disposition"), "attachment; filename=x.iso");
        assert_eq!(header(&answer, "accept-ranges"), "bytes");
        assert_eq!(header(&answer, "etag"), "\"t\"");
        assert_eq!(header(&answer, "last-modified"), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(header(&answer, "content-type"), "application/octet-stream");
    }

    #[test]
    fn in_ranges() {
        let (answer, body) = ask("Range: bytes=3-6\r\n");
        assert_eq!((answer.status.as_u16(), body.as_slice()), (206, b"3\0\x006".as_slice()));
        assert_eq!(header(&answer, "content-range"), "bytes 3-6/10");
        let (answer, body) = ask("Range: bytes=0-1,8-\r\n");
        assert_eq!(header(&answer, "content-type"), format!("multipart/byteranges; boundary={BOUNDARY}"));
        let part = |range: &str, data: &str| {
            format!(
                "--{BOUNDARY}\r\nContent-Range: bytes {range}/10\r\nContent-Type: application/octet-stream\r\n\r\n{data}\r\n"
            )
        };
        let expected = format!("{}{}--{BOUNDARY}--\r\n", part("0-1", "01"), part("8-9", "89"));
        assert_eq!((answer.status.as_u16(), String::from_utf8(body).unwrap()), (206, expected));
    }

    #[test]
    fn not_at_all() {
        let (answer, body) = ask("Range: bytes=10-\r\n");
        assert_eq!(
            (answer.status.as_u16(), body.as_slice()),
            (416, b"invalid range: failed to overlap\n".as_slice())
        );
        assert_eq!(header(&answer, "content-range"), "bytes */10");
        let (answer, body) = ask("If-None-Match: \"t\"\r\nRange: bytes=10-\r\n");
        assert_eq!((answer.status.as_u16(), body.len()), (304, 0));
        assert_eq!(header(&answer, "etag"), "\"t\"");
        assert_eq!(header(&answer, "content-type"), "");
        assert_eq!(ask("If-Match: \"x\"\r\n").0.status, 412);
        let (answer, body) = ask("If-Range: \"x\"\r\nRange: bytes=3-6\r\n");
        assert_eq!((answer.status.as_u16(), body.len()), (200, 10));
    }
}
