//! Lines of requests to the API: method, path and query, headers.

use http::{HeaderMap, HeaderName, HeaderValue, Method};

use crate::input;

pub fn run(bytes: &[u8]) {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let mut first = lines.next().unwrap_or_default().splitn(2, |byte| *byte == b' ');
    let (Some(method), Some(target)) = (first.next(), first.next().and_then(input::text)) else { return };
    let Ok(method) = Method::from_bytes(method) else { return };
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    assisted_api::fuzz::request(&method, path, query, &headers(lines));
}

/// Lines of `name: value`; those that are none are left out.
pub fn headers<'a>(lines: impl Iterator<Item = &'a [u8]>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines.take(64) {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let name = parts.next().and_then(|name| HeaderName::from_bytes(name).ok());
        let value = parts.next().and_then(|value| HeaderValue::from_bytes(value.trim_ascii()).ok());
        if let (Some(name), Some(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    headers
}
