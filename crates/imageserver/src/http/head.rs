//! The head of a request.

use assisted_base::html;
use http::header::{ACCEPT, CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};

/// Bytes that a head may take.
pub(crate) const LONGEST: usize = 16 * 1024;

/// Header lines that a head may have.
const MOST_LINES: usize = 100;

/// The request line and the headers that are used.
#[derive(Debug)]
pub(crate) struct Head {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    /// Whether the connection may be used again.
    pub keep_alive: bool,
    /// Whether HTTP/1.0 is spoken: then a kept connection has to be said.
    pub old: bool,
}

impl Head {
    /// The text of a header, of its first line; none when it is not ASCII.
    pub fn text(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Whether a browser opens this address: boards, loaders and scripts ask for no page.
    pub fn wants_page(&self) -> bool {
        html::is_wanted(self.headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()))
    }
}

/// Reads a head at the beginning of `bytes`: the head with its length, none while its end has not come.
///
/// # Errors
///
/// The status to answer with before the connection is closed.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Head, usize)>, StatusCode> {
    let mut lines = [httparse::EMPTY_HEADER; MOST_LINES];
    let mut request = httparse::Request::new(&mut lines);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length <= LONGEST => length,
        Ok(httparse::Status::Partial) if bytes.len() < LONGEST => return Ok(None),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => {
            return Err(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
        }
        Err(httparse::Error::Version) => return Err(StatusCode::HTTP_VERSION_NOT_SUPPORTED),
        Err(_) => return Err(StatusCode::BAD_REQUEST),
    };
    let head = read(&request).ok_or(StatusCode::BAD_REQUEST)?;
    Ok(Some((head, length)))
}

fn read(request: &httparse::Request<'_, '_>) -> Option<Head> {
    let method = Method::from_bytes(request.method?.as_bytes()).ok()?;
    let uri: Uri = request.path?.parse().ok()?;
    let old = request.version? == 0;
    let mut headers = HeaderMap::with_capacity(request.headers.len());
    for line in request.headers.iter() {
        let name = HeaderName::from_bytes(line.name.as_bytes()).ok()?;
        headers.append(name, HeaderValue::from_bytes(line.value).ok()?);
    }
    let hosts = headers.get_all(HOST).iter().count();
    if hosts > 1 || (hosts == 0 && !old) {
        return None;
    }
    // No operation takes a body. Whoever sends one is answered, but what follows is not read as another request: there is
    // no framing to get wrong.
    let body = headers.contains_key(TRANSFER_ENCODING)
        || headers.get_all(CONTENT_LENGTH).iter().any(|length| length.as_bytes() != b"0");
    let says = |option: &str| {
        headers
            .get_all(CONNECTION)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .any(|said| said.trim().eq_ignore_ascii_case(option))
    };
    let keep_alive = !body && !says("close") && (!old || says("keep-alive"));
    Some(Head { method, uri, headers, keep_alive, old })
}

/// A request for a path with header lines, each with its end.
#[cfg(test)]
pub(crate) fn parse_for_tests(path: &str, lines: &str) -> Head {
    let text = format!("GET {path} HTTP/1.1\r\nHost: h\r\n{lines}\r\n");
    parse(text.as_bytes()).unwrap().unwrap().0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Head {
        let (head, length) = parse(text.as_bytes()).unwrap().unwrap();
        assert_eq!(length, text.len());
        head
    }

    #[test]
    fn a_head_is_read_to_its_end() {
        let text = "GET /images/x?a=b HTTP/1.1\r\nHost: h\r\nRange: bytes=0-1\r\n\r\n";
        for end in 0..text.len() {
            assert!(parse(&text.as_bytes()[..end]).unwrap().is_none());
        }
        let (head, length) = parse(format!("{text}GET /next").as_bytes()).unwrap().unwrap();
        assert_eq!(length, text.len());
        assert_eq!((head.uri.path(), head.uri.query()), ("/images/x", Some("a=b")));
        assert_eq!(head.text(&http::header::RANGE), Some("bytes=0-1"));
        assert!(head.keep_alive);
    }

    #[test]
    fn a_connection_is_kept_only_when_that_is_safe() {
        let keeps = |text: &str| head(&format!("{text}\r\n\r\n")).keep_alive;
        assert!(keeps("GET / HTTP/1.1\r\nHost: h"));
        assert!(keeps("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0"));
        assert!(keeps("GET / HTTP/1.0\r\nConnection: keep-alive"));
        assert!(!keeps("GET / HTTP/1.0"));
        assert!(!keeps("GET / HTTP/1.1\r\nHost: h\r\nConnection: TE, Close"));
        assert!(!keeps("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 5"));
        assert!(!keeps("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nContent-Length: 5"));
        assert!(!keeps("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked"));
    }

    #[test]
    fn what_is_no_head_is_refused() {
        let status = |text: &str| parse(text.as_bytes()).unwrap_err().as_u16();
        assert_eq!(status("GET / HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(status("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
        assert_eq!(status("GET /\x01 HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
        assert_eq!(status("GET / HTTP/1.1\r\nHost : h\r\n\r\n"), 400);
        assert_eq!(status("GET / HTTP/2.0\r\nHost: h\r\n\r\n"), 505);
        assert_eq!(status(&format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", "a".repeat(LONGEST))), 431);
        assert_eq!(status(&format!("GET / HTTP/1.1\r\nHost: {}", "a".repeat(LONGEST))), 431);
        assert_eq!(status(&format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(101))), 431);
    }
}
