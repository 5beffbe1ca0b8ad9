//! One connection: a request, its answer, the next.

use std::fmt::Write;
use std::io;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use assisted_base::rate::MinimumRate;
use assisted_isokit::{Extent, Source};
use bytes::{Buf, BytesMut};
use http::header::{CONNECTION, CONTENT_LENGTH, DATE};
use http::{Method, StatusCode};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::Images;
use crate::http::transport::Transport;
use crate::http::{Answer, Arrival, Head, head};

/// How long clients may take; who takes longer is cut off.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For the handshake of TLS.
    pub handshake: Duration,
    /// For the head of a request (image-service §1.1).
    pub head: Duration,
    /// Between two requests.
    pub idle: Duration,
    /// For taking the next byte of an answer: long, because machines that read from virtual media may be paused.
    pub stall: Duration,
    /// How fast an answer has to be taken.
    pub rate: MinimumRate,
    /// For closing.
    pub linger: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(3),
            idle: Duration::from_secs(180),
            stall: Duration::from_secs(600),
            rate: MinimumRate { bytes_per_second: 16 << 10, window: Duration::from_secs(30 * 60) },
            linger: Duration::from_secs(2),
        }
    }
}

/// Serves a connection until its client has gone, or until `stop` and the end of the answer under way.
pub(super) async fn serve(
    mut transport: Transport,
    peer: IpAddr,
    images: Images,
    timeouts: Timeouts,
    stop: CancellationToken,
) {
    let mut buffer = BytesMut::with_capacity(2048);
    let mut wait = timeouts.head;
    loop {
        let head = tokio::select! {
            head = next(&mut transport, &mut buffer, wait, timeouts.head) => head,
            () = stop.cancelled(), if buffer.is_empty() => break,
        };
        let head = match head {
            Ok(Some(head)) => head,
            Ok(None) => break,
            Err(status) => {
                let mut answer = Answer::line(status, status.canonical_reason().unwrap_or_default());
                let _ = deliver(&mut transport, &mut answer, None, false).await;
                break;
            }
        };
        let mut answer = images.answer(&head, transport.is_secure(), peer).await;
        let keep = head.keep_alive && !stop.is_cancelled();
        let before = transport.sent;
        let delivered = deliver(&mut transport, &mut answer, Some(&head), keep).await;
        if let Some(record) = &mut answer.record {
            record.sent = transport.sent - before;
        }
        drop(answer);
        if let Err(error) = delivered {
            // Without the path, which may hold a token.
            tracing::debug!(%error, sent = transport.sent - before, "an answer was not taken to its end");
            return;
        }
        if !keep {
            break;
        }
        wait = timeouts.idle;
    }
    transport.end(timeouts.linger).await;
}

/// The next head; none when the client has gone or asks nothing in time.
///
/// # Errors
///
/// The status of a request that can't be read.
async fn next(
    transport: &mut Transport,
    buffer: &mut BytesMut,
    first: Duration,
    whole: Duration,
) -> Result<Option<Head>, StatusCode> {
    if buffer.is_empty() && !matches!(timeout(first, transport.read(buffer)).await, Ok(Ok(1..))) {
        return Ok(None);
    }
    let read = async {
        loop {
            if let Some((head, length)) = head::parse(buffer)? {
                buffer.advance(length);
                return Ok(Some(head));
            }
            if !matches!(transport.read(buffer).await, Ok(1..)) {
                return Ok(None);
            }
        }
    };
    timeout(whole, read).await.unwrap_or(Err(StatusCode::REQUEST_TIMEOUT))
}

/// Sends an answer; `head` is the request's, if it could be read.
async fn deliver(
    transport: &mut Transport,
    answer: &mut Answer,
    head: Option<&Head>,
    keep: bool,
) -> io::Result<()> {
    let without_body = head.is_some_and(|head| head.method == Method::HEAD);
    let length = if without_body { 0 } else { answer.body.len() };
    transport.restart_rate();
    transport.send(lines(answer, head, keep).as_bytes(), length > 0).await?;
    for extent in answer.body.slice(0..length) {
        send(transport, &extent, &mut answer.arrival).await?;
    }
    transport.flush().await
}

async fn send(transport: &mut Transport, extent: &Extent, arrival: &mut Option<Arrival>) -> io::Result<()> {
    match &extent.source {
        Source::Bytes(bytes) => transport.send(bytes, false).await,
        Source::Zeros => transport.send_zeros(extent.len, false).await,
        Source::File { file, offset } => {
            let (mut at, end) = (*offset, offset.saturating_add(extent.len));
            while at < end {
                let part = match arrival {
                    Some(arrival) => {
                        let part = arrival.reach(file, at, end).await?;
                        // Nobody can take what is not there.
                        transport.restart_rate();
                        part
                    }
                    None => end,
                };
                transport.send_file(file, at, part - at).await?;
                at = part;
            }
            Ok(())
        }
    }
}

/// The lines of an answer's head.
fn lines(answer: &Answer, head: Option<&Head>, keep: bool) -> String {
    let status = answer.status;
    let mut text = String::with_capacity(512);
    let reason = status.canonical_reason().unwrap_or_default();
    // Writing into a text does not fail.
    let _ = write!(text, "HTTP/1.1 {} {reason}\r\n", status.as_u16());
    let _ = write!(text, "{DATE}: {}\r\n", httpdate::fmt_http_date(SystemTime::now()));
    for (name, value) in &answer.headers {
        if let Ok(value) = value.to_str() {
            let _ = write!(text, "{name}: {value}\r\n");
        }
    }
    if status != StatusCode::NOT_MODIFIED && status != StatusCode::NO_CONTENT {
        let _ = write!(text, "{CONTENT_LENGTH}: {}\r\n", answer.body.len());
    }
    if !keep {
        let _ = write!(text, "{CONNECTION}: close\r\n");
    } else if head.is_some_and(|head| head.old) {
        let _ = write!(text, "{CONNECTION}: keep-alive\r\n");
    }
    text.push_str("\r\n");
    text
}
