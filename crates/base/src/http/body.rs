//! Reading an answer into memory, up to a limit.

use reqwest::Response;

/// Why an answer can't be read.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    #[error("the answer is longer than {0} bytes")]
    TooLong(usize),
    /// It ended before its time.
    #[error(transparent)]
    Broken(#[from] reqwest::Error),
}

/// The whole body of an answer, which holds at most `longest` bytes, after decompression where there is any. An answer that
/// says itself that it is longer is not read at all.
///
/// # Errors
/// When it is longer, or the connection breaks.
pub async fn read(answer: &mut Response, longest: usize) -> Result<Vec<u8>, BodyError> {
    if answer.content_length().is_some_and(|length| length > longest as u64) {
        return Err(BodyError::TooLong(longest));
    }
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await? {
        if piece.len() > longest - body.len() {
            return Err(BodyError::TooLong(longest));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer that does not say how long it is.
    fn answer(text: &'static str) -> Response {
        let pieces = text.split_inclusive(' ').map(|piece| Ok::<_, std::io::Error>(piece.as_bytes()));
        http::Response::new(reqwest::Body::wrap_stream(futures::stream::iter(pieces))).into()
    }

    #[tokio::test]
    async fn no_more_is_read_than_is_wanted() {
        let text = "one two three";
        assert_eq!(read(&mut answer(text), text.len()).await.unwrap(), text.as_bytes());
        for longest in [0, 4, 5, text.len() - 1] {
            let read = read(&mut answer(text), longest).await;
            assert!(matches!(read, Err(BodyError::TooLong(limit)) if limit == longest), "{longest}");
        }
        let mut counted = Response::from(http::Response::new(text));
        assert!(matches!(read(&mut counted, 3).await, Err(BodyError::TooLong(3))));
        assert_eq!(counted.bytes().await.unwrap(), text, "it was not touched");
    }
}
