//! Answers: JSON, in gzip where that pays.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::Full;
use serde::Serialize;

use super::error::ApiError;

/// An answer with its whole body.
pub(crate) type Answer = Response<Full<Bytes>>;

/// Smaller bodies fit one packet: gzip would only cost time. The answers to quiet polls are below it.
const GZIP_FROM: usize = 1400;

/// An answer with a body of some type.
pub(crate) fn bytes_answer(status: StatusCode, content_type: &'static str, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

/// An answer without a body.
pub(crate) fn empty_answer(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::new()));
    *answer.status_mut() = status;
    answer
}

/// An answer with a JSON body.
pub(crate) fn json_answer<T: Serialize>(status: StatusCode, value: &T) -> Answer {
    match serde_json::to_vec(value) {
        Ok(body) => bytes_answer(status, "application/json", body.into()),
        Err(error) => ApiError::internal(&error).answer(),
    }
}

/// Compresses an answer's body if the client takes gzip and the body is worth it.
pub(crate) fn gzip(answer: Answer, request: &HeaderMap) -> Answer {
    let body: &Full<Bytes> = answer.body();
    let size = hyper::body::Body::size_hint(body).exact().unwrap_or_default();
    if size < GZIP_FROM as u64 || !accepts_gzip(request) {
        return answer;
    }
    let (mut parts, body) = answer.into_parts();
    let plain = full_bytes(body);
    let mut encoder = GzEncoder::new(Vec::with_capacity(plain.len() / 4), Compression::fast());
    let packed = encoder.write_all(&plain).and_then(|()| encoder.finish());
    let body = match packed {
        Ok(packed) => {
            parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            parts.headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
            parts.headers.remove(CONTENT_LENGTH);
            Bytes::from(packed)
        }
        Err(error) => {
            tracing::warn!(%error, "an answer is sent without compression");
            plain
        }
    };
    Response::from_parts(parts, Full::new(body))
}

/// The bytes of a body that is whole: it never waits and never fails.
fn full_bytes(body: Full<Bytes>) -> Bytes {
    use http_body_util::BodyExt;
    use std::future::Future;
    let mut waiting = std::pin::pin!(body.collect());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match waiting.as_mut().poll(&mut context) {
        std::task::Poll::Ready(Ok(whole)) => whole.to_bytes(),
        _ => Bytes::new(),
    }
}

fn accepts_gzip(request: &HeaderMap) -> bool {
    request.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok()).any(|value| {
        value.split(',').any(|coding| {
            let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
            let refused = weight.trim().trim_start_matches("q=").parse() == Ok(0.0_f32);
            matches!(name.trim(), "gzip" | "*") && !refused
        })
    })
}
