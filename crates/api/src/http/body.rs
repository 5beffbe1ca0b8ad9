//! Bodies of requests, read within bounds.

use assisted_wire::operation::OperationId;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, EXPECT};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::time::{Instant, timeout_at};

use super::error::ApiError;
use crate::Patience;

const MIB: usize = 1024 * 1024;

/// The largest body of an operation: replies carry whole inventories, the rest are settings.
pub(crate) fn limit(id: OperationId) -> usize {
    match id {
        OperationId::PostStepReply => 16 * MIB,
        OperationId::GetNextSteps => 0,
        _ => 4 * MIB,
    }
}

/// Reads a whole body.
pub(crate) async fn read(
    headers: &HeaderMap,
    mut body: Incoming,
    limit: usize,
    patience: &Patience,
) -> Result<Bytes, ApiError> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let announced = body.size_hint().lower();
    if announced > limit as u64 {
        return Err(too_large(headers, body, limit, patience).await);
    }
    let until = Instant::now() + patience.body;
    let mut whole = BytesMut::with_capacity(usize::try_from(announced).unwrap_or_default());
    loop {
        let frame = match timeout_at(until, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => return Ok(whole.freeze()),
            Ok(Some(Err(_))) => return Err(ApiError::framework(400, "the body ended before its time")),
            Err(_) => return Err(ApiError::framework(408, "the body did not arrive in time")),
        };
        if let Ok(data) = frame.into_data() {
            if whole.len() + data.len() > limit {
                drop(whole);
                return Err(too_large(headers, body, limit, patience).await);
            }
            whole.extend_from_slice(&data);
        }
    }
}

async fn too_large(headers: &HeaderMap, mut body: Incoming, limit: usize, patience: &Patience) -> ApiError {
    discard(headers, &mut body, patience).await;
    ApiError::framework(413, format!("the body is larger than {limit} bytes"))
}

/// Throws away what a client still sends.
pub(crate) async fn discard(headers: &HeaderMap, body: &mut Incoming, patience: &Patience) {
    // A client that asked first, and waits, sends nothing.
    let waits = headers.contains_key(EXPECT) && headers.contains_key(CONTENT_LENGTH);
    if !waits {
        let until = Instant::now() + patience.rest;
        while let Ok(Some(Ok(_))) = timeout_at(until, body.frame()).await {}
    }
}
