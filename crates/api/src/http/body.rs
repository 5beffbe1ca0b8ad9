//! Bodies of requests, read within bounds.

use assisted_wire::operation::OperationId;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, EXPECT};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::time::{Instant, timeout_at};

use crate::Timeouts;
use crate::budget::Reservation;
use crate::error::ApiError;

const MIB: usize = 1024 * 1024;

/// The largest body of an operation: replies carry whole inventories, the rest are settings.
pub(crate) fn limit(id: OperationId) -> usize {
    match id {
        OperationId::PostStepReply => 16 * MIB,
        OperationId::GetNextSteps => 0,
        _ => 4 * MIB,
    }
}

/// A body, and the room that it takes.
#[derive(Default)]
pub(crate) struct BufferedBody {
    pub(crate) bytes: Bytes,
    _reservation: Option<Reservation>,
}

/// Reads a whole body into the room that there is for it.
pub(crate) async fn read(
    headers: &HeaderMap,
    mut body: Incoming,
    limit: usize,
    timeouts: &Timeouts,
    reservation: Result<Reservation, ApiError>,
) -> Result<BufferedBody, ApiError> {
    if body.is_end_stream() {
        return Ok(BufferedBody::default());
    }
    let mut reservation = reservation?;
    let announced = body.size_hint().lower();
    if announced > limit as u64 {
        return Err(too_large(headers, body, limit, timeouts).await);
    }
    let until = Instant::now() + timeouts.body;
    // What is announced has not come yet: room is taken for what has.
    let mut whole = BytesMut::new();
    loop {
        let frame = match timeout_at(until, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => return Ok(BufferedBody { bytes: whole.freeze(), _reservation: Some(reservation) }),
            Ok(Some(Err(_))) => return Err(ApiError::framework(400, "the body ended before its time")),
            Err(_) => return Err(ApiError::framework(408, "the body did not arrive in time")),
        };
        if let Ok(data) = frame.into_data() {
            if whole.len() + data.len() > limit {
                drop(whole);
                return Err(too_large(headers, body, limit, timeouts).await);
            }
            // A buffer that grows is up to twice as large as what is in it.
            if let Err(full) = reservation.reserve((whole.len() + data.len()).max(whole.capacity())) {
                drop((whole, reservation));
                discard(headers, &mut body, timeouts).await;
                return Err(full);
            }
            whole.extend_from_slice(&data);
        }
    }
}

async fn too_large(headers: &HeaderMap, mut body: Incoming, limit: usize, timeouts: &Timeouts) -> ApiError {
    discard(headers, &mut body, timeouts).await;
    ApiError::framework(413, format!("the body is larger than {limit} bytes"))
}

/// Throws away what a client still sends.
pub(crate) async fn discard(headers: &HeaderMap, body: &mut Incoming, timeouts: &Timeouts) {
    // A client that asked first, and waits, sends nothing.
    let waits = headers.contains_key(EXPECT) && headers.contains_key(CONTENT_LENGTH);
    if !waits {
        let until = Instant::now() + timeouts.rest;
        while let Ok(Some(Ok(_))) = timeout_at(until, body.frame()).await {}
    }
}
