//! Answers: JSON, in gzip where that pays, and files.

use std::io::{self, Write};
use std::pin::Pin;

use assisted_service::file::File;
use assisted_service::metrics::Record;
use assisted_service::off_thread::{LONG, off_thread};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::{FutureExt, Stream, StreamExt, TryStreamExt, future, stream};
use http::header::{
    ACCEPT_ENCODING, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, LAST_MODIFIED, VARY,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt, Either, Full, StreamBody};
use hyper::body::Frame;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use crate::error::ApiError;

/// A body that is whole, or one that is made while it is sent.
pub(crate) type Body = Either<Full<Bytes>, StreamBody<Pieces>>;

pub(super) type Pieces = Pin<Box<dyn Stream<Item = io::Result<Frame<Bytes>>> + Send>>;

/// An answer with its body.
pub(crate) type Answer = Response<Body>;

/// Smaller bodies are sent at once, in the first ten packets that TCP lets through unacknowledged: gzip would only cost time, for which it
/// takes a third of a megabyte of memory. What agents and installers are answered again and again is below it.
const GZIP_FROM: usize = 14_000;

/// An answer with a body of some type.
pub(crate) fn bytes_answer(status: StatusCode, content_type: &'static str, body: Bytes) -> Answer {
    let mut answer = Response::new(Either::Left(Full::new(body)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

/// An answer without a body.
pub(crate) fn empty_answer(status: StatusCode) -> Answer {
    let mut answer = Response::new(Either::Left(Full::new(Bytes::new())));
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

/// The same of what may be long. What is short is written here; the rest is begun again on another thread.
pub(crate) async fn long_json_answer<T: Serialize + Send + 'static>(status: StatusCode, value: T) -> Answer {
    let mut short = Short::default();
    if serde_json::to_writer(&mut short, &value).is_ok() {
        return bytes_answer(status, "application/json", short.0.into());
    }
    match off_thread(move || serde_json::to_vec(&value)).await {
        Ok(Ok(body)) => bytes_answer(status, "application/json", body.into()),
        Ok(Err(error)) => ApiError::internal(&error).answer(),
        Err(error) => ApiError::from(error).answer(),
    }
}

/// An answer with a list of which the first part is here, and each further one comes when the one before it is sent. Where one does not
/// come, the body has no end.
pub(crate) fn list_answer<T: Serialize + Send + 'static>(
    status: StatusCode,
    first: Vec<T>,
    rest: impl Stream<Item = Result<Vec<T>, ApiError>> + Send + 'static,
) -> Answer {
    let parts = stream::once(future::ready(Ok(first))).chain(rest).enumerate();
    let frames = parts.then(|(number, part)| async move {
        let text = match part {
            Ok(part) => off_thread(move || members(&part, number == 0)).await.map_err(ApiError::from),
            Err(error) => Err(error),
        };
        let text = text.map_err(io::Error::other).flatten();
        text.map(Frame::data).inspect_err(|error| tracing::error!(%error, "a list ends before its time"))
    });
    let end = stream::once(future::ready(Ok(Frame::data(Bytes::from_static(b"]")))));
    let pieces: Pieces = Box::pin(frames.chain(end));
    let mut answer = Response::new(Either::Right(StreamBody::new(pieces)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// A part of a list without its end.
fn members<T: Serialize>(part: &[T], is_first: bool) -> io::Result<Bytes> {
    let mut text = serde_json::to_vec(part).map_err(io::Error::other)?;
    text.pop();
    match (is_first, part.is_empty()) {
        (true, _) => {}
        (false, true) => text.clear(),
        (false, false) => text[0] = b',',
    }
    Ok(text.into())
}

/// Takes no more than what is short.
#[derive(Default)]
struct Short(Vec<u8>);

impl Write for Short {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if self.0.len() + piece.len() > LONG {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An answer with a file (service-api §1.5).
pub(crate) fn file_answer(status: StatusCode, file: File) -> Answer {
    let pieces: Pieces = Box::pin(file.content.map_ok(Frame::data));
    let mut answer = Response::new(Either::Right(StreamBody::new(pieces)));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    if let Ok(disposition) = HeaderValue::from_str(&disposition(&file.name)) {
        headers.insert(CONTENT_DISPOSITION, disposition);
    }
    let modified = file.modified.map(|at| at.0.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string());
    if let Some(modified) = modified.and_then(|text| HeaderValue::try_from(text).ok()) {
        headers.insert(LAST_MODIFIED, modified);
    }
    if let Some(size) = file.size.filter(|size| *size > 0) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(size));
    }
    answer
}

/// Names a file; a second time, encoded, when not all of the name can stand in a header.
fn disposition(name: &str) -> String {
    let safe = |letter: char| matches!(letter, ' '..='~') && !matches!(letter, '"' | '\\');
    let plain: String = name.chars().map(|letter| if safe(letter) { letter } else { '_' }).collect();
    let mut text = format!("attachment; filename=\"{plain}\"");
    if plain != name {
        text.push_str(&format!("; filename*=UTF-8''{}", utf8_percent_encode(name, NON_ALPHANUMERIC)));
    }
    text
}

/// Has an answer measured until the last of it is sent, before it is compressed.
pub(crate) fn recorded(answer: Answer, mut record: Record) -> Answer {
    record.code = answer.status().as_u16();
    let (parts, body) = answer.into_parts();
    let body = match body {
        Either::Left(body) => {
            record.sent = hyper::body::Body::size_hint(&body).exact().unwrap_or_default();
            Either::Left(body)
        }
        Either::Right(pieces) => {
            let pieces: Pieces = Box::pin(pieces.inspect_ok(move |frame| {
                record.add_sent(frame.data_ref().map_or(0, |data| data.len() as u64));
            }));
            Either::Right(StreamBody::new(pieces))
        }
    };
    Response::from_parts(parts, body)
}

/// Has something held until the last of an answer is handed over. A body that is whole is handed over at once.
pub(crate) fn holding<H: Send + 'static>(answer: Answer, held: H) -> Answer {
    answer.map(|body| match body {
        Either::Left(body) => Either::Left(body),
        Either::Right(pieces) => {
            let pieces: Pieces = Box::pin(pieces.inspect_ok(move |_| {
                let _ = &held;
            }));
            Either::Right(StreamBody::new(pieces))
        }
    })
}

/// Compresses an answer's body if it is whole, the client takes gzip and the body is worth it.
pub(crate) async fn gzip(answer: Answer, request: &HeaderMap) -> Answer {
    let Either::Left(body) = answer.body() else { return answer };
    let size = hyper::body::Body::size_hint(body).exact().unwrap_or_default();
    if size < GZIP_FROM as u64 || !accepts_gzip(request) {
        return answer;
    }
    let (mut parts, body) = answer.into_parts();
    let plain = match body {
        Either::Left(body) => full_bytes(body),
        file => return Response::from_parts(parts, file),
    };
    let packed = if plain.len() < LONG {
        Ok(pack(&plain))
    } else {
        let plain = plain.clone();
        Box::pin(off_thread(move || pack(&plain))).await
    };
    let body = match packed.map_err(io::Error::other).flatten() {
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
    Response::from_parts(parts, Either::Left(Full::new(body)))
}

fn pack(plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(plain.len() / 4), Compression::fast());
    encoder.write_all(plain)?;
    encoder.finish()
}

/// The bytes of a body that is whole: it never waits and never fails.
fn full_bytes(body: Full<Bytes>) -> Bytes {
    match body.collect().now_or_never() {
        Some(Ok(whole)) => whole.to_bytes(),
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

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[tokio::test]
    async fn what_is_long_is_written_and_compressed_as_what_is_short() {
        for length in [1, LONG / 8, LONG] {
            let value = vec!["text"; length];
            let expected = serde_json::to_vec(&value).unwrap();
            let answer = long_json_answer(StatusCode::OK, value).await;
            assert_eq!(answer.headers()[CONTENT_TYPE], "application/json");
            let mut request = HeaderMap::new();
            let plain = gzip(answer, &request).await;
            request.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
            let (parts, body) = plain.into_parts();
            let Either::Left(body) = body else { panic!("it is whole") };
            assert!(full_bytes(body.clone()) == expected, "{length}");
            let packed = gzip(Response::from_parts(parts, Either::Left(body)), &request).await;
            if length == 1 {
                assert!(!packed.headers().contains_key(CONTENT_ENCODING));
                continue;
            }
            assert_eq!(packed.headers()[CONTENT_ENCODING], "gzip");
            let Either::Left(body) = packed.into_body() else { panic!("it is whole") };
            let mut unpacked = Vec::new();
            flate2::read::GzDecoder::new(&*full_bytes(body)).read_to_end(&mut unpacked).unwrap();
            assert!(unpacked == expected, "{length}");
        }
    }

    #[test]
    fn names_of_files() {
        for (name, expected) in [
            ("master.ign", r#"attachment; filename="master.ign""#),
            ("a\"\r\nb", r#"attachment; filename="a___b"; filename*=UTF-8''a%22%0D%0Ab"#),
            ("\u{fc}.yaml", r#"attachment; filename="_.yaml"; filename*=UTF-8''%C3%BC%2Eyaml"#),
        ] {
            assert_eq!(disposition(name), expected);
        }
    }
}
