//! The answer to a request for a file or a page.

use std::io::Read;

use bytes::Bytes;
use flate2::read::GzDecoder;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};

use crate::File;
use crate::negotiate::{self, Encoding};

/// What a page may do: run and load what this program serves, and ask this program.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                          font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The page that a browser gets whatever address of the UI it opens.
const INDEX: &str = "index.html";

/// What stands in for the UI in a program without it.
const MISSING: &str = include_str!("missing.html");

/// Files below it have the hash of their content in their names.
const HASHED: &str = "assets/";

/// Longest file that is decompressed for a client that takes no compression, in bytes.
const LONGEST: u64 = 64 << 20;

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// See [`crate::answer`].
pub(crate) fn answer(
    files: &[File],
    method: &Method,
    path: &str,
    headers: &HeaderMap,
) -> Option<Response<Bytes>> {
    if method != Method::GET && method != Method::HEAD {
        return None;
    }
    let name = path.strip_prefix('/')?;
    let file = files.iter().find(|file| file.path == name && !name.is_empty());
    let index = || files.iter().find(|file| file.path == INDEX);
    let is_page =
        name.is_empty() || name == INDEX || negotiate::wants_page(headers) && !name.starts_with(HASHED);
    let mut answer = match file.or_else(|| index().filter(|_| is_page)) {
        Some(file) => file.answer(headers),
        None if is_page => page(StatusCode::OK, Bytes::from_static(MISSING.as_bytes())),
        None => return None,
    };
    if method == Method::HEAD {
        // What a GET would bring.
        let length = answer.body().len();
        if answer.status() == StatusCode::OK {
            answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        *answer.body_mut() = Bytes::new();
    }
    Some(answer)
}

impl File {
    fn answer(&self, headers: &HeaderMap) -> Response<Bytes> {
        let (encoding, body) = self.form(headers);
        let tag = match encoding.name() {
            Some(name) => format!("\"{}-{name}\"", self.tag),
            None => format!("\"{}\"", self.tag),
        };
        let mut answer = if negotiate::has(headers, &tag) {
            let mut answer = Response::new(Bytes::new());
            *answer.status_mut() = StatusCode::NOT_MODIFIED;
            answer
        } else {
            page(StatusCode::OK, body)
        };
        let out = answer.headers_mut();
        if let Some(name) = encoding.name() {
            out.insert(CONTENT_ENCODING, HeaderValue::from_static(name));
        }
        out.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
        out.insert(CONTENT_TYPE, HeaderValue::from_static(content_type(self.path)));
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            out.insert(ETAG, tag);
        }
        let life =
            if self.path.starts_with(HASHED) { "public, max-age=31536000, immutable" } else { "no-cache" };
        out.insert(CACHE_CONTROL, HeaderValue::from_static(life));
        answer
    }

    /// The smallest form that the client takes.
    fn form(&self, headers: &HeaderMap) -> (Encoding, Bytes) {
        let compressed = [(Encoding::Brotli, self.brotli), (Encoding::Gzip, self.gzip)];
        for (encoding, form) in compressed {
            if let (Some(body), Some(name)) = (form, encoding.name())
                && negotiate::takes(headers, name)
            {
                return (encoding, Bytes::from_static(body));
            }
        }
        match (self.plain, self.gzip) {
            (Some(plain), _) => (Encoding::Identity, Bytes::from_static(plain)),
            (None, gzip) => (Encoding::Identity, decompressed(gzip.unwrap_or_default())),
        }
    }
}

/// A body as it was before it was compressed. It is of this program, so that it can be read.
fn decompressed(gzip: &[u8]) -> Bytes {
    let mut plain = Vec::new();
    match GzDecoder::new(gzip).take(LONGEST).read_to_end(&mut plain) {
        Ok(_) => plain.into(),
        Err(_) => Bytes::new(),
    }
}

/// An answer with what each page has: the policy stands on all files, so that none can be opened without it.
fn page(status: StatusCode, body: Bytes) -> Response<Bytes> {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let out = answer.headers_mut();
    out.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    out.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    out.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    out.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    out.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    out.insert(OPENER_POLICY, HeaderValue::from_static("same-origin"));
    answer
}

/// By the end of a file's name.
fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, end)| end) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::read::GzEncoder;
    use http::header::{ACCEPT, ACCEPT_ENCODING, IF_NONE_MATCH};

    use super::*;

    fn files() -> Vec<File> {
        let mut gzip = Vec::new();
        GzEncoder::new(&b"<p>page"[..], Compression::fast()).read_to_end(&mut gzip).unwrap();
        let file = |path, plain, brotli, gzip| File { path, tag: "7", plain, brotli, gzip };
        vec![
            file("assets/a.js", None, Some(&b"br"[..]), Some(&b"gz"[..])),
            file("assets/a.woff2", Some(&b"font"[..]), None, None),
            file("index.html", None, Some(&b"index"[..]), Some(Vec::leak(gzip))),
        ]
    }

    fn ask(method: &Method, path: &str, headers: &[(HeaderName, &'static str)]) -> Option<Response<Bytes>> {
        let headers = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        answer(&files(), method, path, &headers.collect())
    }

    fn header(answer: &Response<Bytes>, name: HeaderName) -> &str {
        answer.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    #[test]
    fn files_come_in_the_form_that_the_client_takes() {
        let br = (ACCEPT_ENCODING, "gzip, br");
        let script = ask(&Method::GET, "/assets/a.js", &[br]).unwrap();
        assert_eq!((header(&script, CONTENT_ENCODING), &script.body()[..]), ("br", &b"br"[..]));
        assert_eq!(header(&script, CONTENT_TYPE), "text/javascript; charset=utf-8");
        assert!(header(&script, CACHE_CONTROL).contains("immutable"));
        assert_eq!(header(&script, VARY), "Accept-Encoding");
        let script = ask(&Method::GET, "/assets/a.js", &[(ACCEPT_ENCODING, "gzip, br;q=0")]).unwrap();
        assert_eq!((header(&script, CONTENT_ENCODING), &script.body()[..]), ("gzip", &b"gz"[..]));
        let index = ask(&Method::GET, "/", &[]).unwrap();
        assert_eq!((header(&index, CONTENT_ENCODING), &index.body()[..]), ("", &b"<p>page"[..]));
        let font = ask(&Method::GET, "/assets/a.woff2", &[(ACCEPT_ENCODING, "br")]).unwrap();
        assert_eq!((header(&font, CONTENT_ENCODING), &font.body()[..]), ("", &b"font"[..]));
    }

    #[test]
    fn what_a_client_has_is_not_sent_again() {
        let br = (ACCEPT_ENCODING, "br");
        let first = ask(&Method::GET, "/", std::slice::from_ref(&br)).unwrap();
        assert_eq!((header(&first, ETAG), header(&first, CACHE_CONTROL)), ("\"7-br\"", "no-cache"));
        let again = ask(&Method::GET, "/", &[br, (IF_NONE_MATCH, "\"7-br\"")]).unwrap();
        assert_eq!((again.status(), again.body().len()), (StatusCode::NOT_MODIFIED, 0));
        let other =
            ask(&Method::GET, "/", &[(ACCEPT_ENCODING, "gzip"), (IF_NONE_MATCH, "\"7-br\"")]).unwrap();
        assert_eq!(other.status(), StatusCode::OK);
        let head = ask(&Method::HEAD, "/", &[]).unwrap();
        assert_eq!((header(&head, CONTENT_LENGTH), head.body().len()), ("7", 0));
    }

    #[test]
    fn browsers_get_the_page_at_each_address_and_programs_do_not() {
        let browser = (ACCEPT, "text/html,*/*;q=0.8");
        for path in ["/", "/index.html", "/clusters/1", "/live/x"] {
            let page = ask(&Method::GET, path, std::slice::from_ref(&browser)).unwrap();
            assert_eq!(header(&page, CONTENT_TYPE), "text/html; charset=utf-8", "{path}");
            assert_eq!(header(&page, CONTENT_SECURITY_POLICY), POLICY);
        }
        for path in ["/clusters/1", "/assets/gone.js"] {
            assert!(ask(&Method::GET, path, &[(ACCEPT, "*/*")]).is_none(), "{path}");
        }
        assert!(ask(&Method::GET, "/assets/gone.js", std::slice::from_ref(&browser)).is_none());
        assert!(ask(&Method::POST, "/", &[browser]).is_none());
    }

    #[test]
    fn a_program_without_the_ui_says_how_to_get_it() {
        let answer = answer(&[], &Method::GET, "/", &HeaderMap::new()).unwrap();
        let text = String::from_utf8_lossy(answer.body());
        assert!(text.contains("cargo xtask ui"), "{text}");
    }
}
