//! Uploads of logs: a form with one file, passed on while it arrives.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assisted_base::rate::{MinimumRate, RateMeter};
use assisted_service::file::log::UploadLogs;
use assisted_wire::cluster::LogsType;
use assisted_wire::id::{HostId, InfraEnvId};
use assisted_wire::operation::{OperationId, name};
use bytes::Bytes;
use futures::{Stream, TryStreamExt, stream};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use multer::{Field, Multipart};
use tokio::task::yield_now;
use tokio::time::timeout;

use super::call::Call;
use crate::Timeouts;
use crate::error::ApiError;
use crate::http::body;
use crate::http::response::{Answer, empty_answer};

/// Bytes that may come before the file: the reader of forms holds them all.
const LONGEST_HEAD: usize = 1 << 20;

/// Name of the file in the form.
const FILE: &str = "upfile";

/// Keeps the logs that a request carries.
pub(super) async fn upload_logs(
    call: &Call<'_>,
    headers: &HeaderMap,
    mut body: Incoming,
    timeouts: &Timeouts,
) -> Result<Answer, ApiError> {
    let outcome = match call.budget.upload(call.peer) {
        Ok(_place) => keep(call, headers, &mut body, timeouts).await,
        Err(full) => Err(full),
    };
    if outcome.is_err() {
        // A client that still sends would not read the answer.
        body::discard(headers, &mut body, timeouts).await;
    }
    outcome.map(|()| empty_answer(StatusCode::NO_CONTENT))
}

async fn keep(
    call: &Call<'_>,
    headers: &HeaderMap,
    body: &mut Incoming,
    timeouts: &Timeouts,
) -> Result<(), ApiError> {
    let Call { service, caller, params, .. } = call;
    let cluster_id = call.cluster_id()?;
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let field = file_of_form(content_type, body, *timeouts).await?;
    // Whatever it is, the client's file is not whole.
    let content =
        field.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, read_error(error).to_string()));
    let files = service.files();
    if call.operation.id == OperationId::UploadOnClusterLayeringLogs {
        let pool = call.text(name::POOL);
        return Ok(Box::pin(files.upload_build_logs(caller, cluster_id, pool, content)).await?);
    }
    let upload = UploadLogs {
        cluster_id,
        logs_type: params.text(name::LOGS_TYPE).and_then(|kind| kind.parse().ok()).unwrap_or(LogsType::Empty),
        infra_env_id: params.uuid(name::INFRA_ENV_ID).map(InfraEnvId),
        host_id: params.uuid(name::HOST_ID).map(HostId),
    };
    Ok(files.upload_logs(caller, upload, content).await?)
}

/// Reads a form up to its file, which is still to come.
pub(crate) async fn file_of_form<'r, B>(
    content_type: &str,
    body: &'r mut B,
    timeouts: Timeouts,
) -> Result<Field<'r>, ApiError>
where
    B: Body<Data = Bytes> + Send + Unpin,
    B::Error: Send,
{
    let boundary = multer::parse_boundary(content_type).map_err(|_| {
        let given = content_type.split(';').next().unwrap_or_default().trim();
        let message = format!("unsupported media type {given:?}, only [multipart/form-data] are allowed");
        ApiError::framework(415, message)
    })?;
    let found = Arc::new(AtomicBool::new(false));
    let mut form = Multipart::new(pieces(body, Arc::clone(&found), timeouts), boundary);
    let malformed = |error: multer::Error| {
        let cause = read_error(error);
        let status = if cause.kind() == io::ErrorKind::TimedOut { 408 } else { 400 };
        ApiError::framework(status, format!("the form can't be read: {cause}"))
    };
    while let Some(field) = form.next_field().await.map_err(malformed)? {
        if field.name() == Some(FILE) {
            found.store(true, Ordering::Relaxed);
            return Ok(field);
        }
    }
    Err(ApiError::framework(400, format!("{FILE} in formData is required")))
}

/// What is wrong with a form: the reader of forms does not say why its source failed.
fn read_error(error: multer::Error) -> io::Error {
    let multer::Error::StreamReadFailed(cause) = error else {
        return io::Error::new(io::ErrorKind::InvalidData, error.to_string());
    };
    let kind = cause.downcast_ref::<io::Error>().map_or(io::ErrorKind::Other, io::Error::kind);
    io::Error::new(kind, cause.to_string())
}

/// The pieces of a body. What is not yet known to belong to the file is bounded.
fn pieces<B>(
    body: &mut B,
    found: Arc<AtomicBool>,
    timeouts: Timeouts,
) -> impl Stream<Item = io::Result<Bytes>> + Send
where
    B: Body<Data = Bytes> + Send + Unpin,
    B::Error: Send,
{
    // Who sends a byte now and then would keep its place for ever.
    let meter = RateMeter::new(MinimumRate { bytes_per_second: timeouts.rate, window: timeouts.piece });
    let state = (body, found, meter, 0_usize);
    stream::try_unfold(state, move |(body, found, mut meter, mut seen)| async move {
        // The reader of forms takes all that is there before it looks at any of it, which over HTTP/2 is much of a file: now nothing is.
        if !found.load(Ordering::Relaxed) {
            yield_now().await;
        }
        loop {
            let slow = || io::Error::new(io::ErrorKind::TimedOut, "the body did not arrive in time");
            let frame = match timeout(timeouts.piece, body.frame()).await {
                Ok(None) => return Ok(None),
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(_))) => return Err(io::Error::other("the body ended before its time")),
                Err(_) => return Err(slow()),
            };
            let Ok(piece) = frame.into_data() else { continue };
            meter.note(piece.len()).map_err(|_| slow())?;
            if !found.load(Ordering::Relaxed) && seen > LONGEST_HEAD {
                return Err(io::Error::other(format!("more than {LONGEST_HEAD} bytes come before the file")));
            }
            seen = seen.saturating_add(piece.len());
            return Ok(Some((piece, (body, found, meter, seen))));
        }
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::iter;

    use http_body_util::StreamBody;
    use hyper::body::Frame;

    use super::*;

    #[tokio::test]
    async fn a_file_that_is_there_at_once_is_no_head() {
        let head = "--of-logs\r\ncontent-disposition: form-data; name=\"upfile\"; filename=\"logs\"\r\n\r\n";
        let file = iter::repeat_n(Bytes::from(vec![b'a'; LONGEST_HEAD / 16]), 64);
        let end = iter::once(Bytes::from("\r\n--of-logs--\r\n"));
        let pieces = iter::once(Bytes::from(head)).chain(file).chain(end);
        let frames = stream::iter(pieces.map(|piece| Ok::<_, Infallible>(Frame::data(piece))));
        let mut body = StreamBody::new(frames);
        let kind = "multipart/form-data; boundary=of-logs";
        let field = file_of_form(kind, &mut body, Timeouts::default()).await.unwrap();
        let content: Vec<Bytes> = field.try_collect().await.unwrap();
        assert_eq!(content.iter().map(Bytes::len).sum::<usize>(), 4 * LONGEST_HEAD);
    }
}
