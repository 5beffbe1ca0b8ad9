//! Following changes: the stream of server-sent events, read message by message.

use std::collections::VecDeque;
use std::mem::take;
use std::time::Duration;

use assisted_wire::cluster::Cluster;
use assisted_wire::event::Event;
use assisted_wire::host::Host;
use assisted_wire::id::ClusterId;
use assisted_wire::live::{ChangeKind, EVENT_STREAM, HEARTBEAT_SECONDS, LAST_EVENT_ID};
use assisted_wire::operation::OperationId;
use serde::de::DeserializeOwned;
use serde::{Serialize, de};

use crate::call::Download;
use crate::{Client, Error};

/// A stream that is silent for so long is broken: the service would have said that it is there.
const SILENCE: Duration = Duration::from_secs(3 * HEARTBEAT_SECONDS);

/// Longest message that is read, in bytes.
const LONGEST: usize = 16 << 20;

/// Something that changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// What was sent before is void. The present state follows if one cluster is followed; who follows all of them lists
    /// what it wants to know.
    Reset {},
    /// A cluster without its hosts; one that has `deleted_at` is gone.
    Cluster(Box<Cluster>),
    /// A host without its reports; one that has `deleted_at`, or another cluster, is gone.
    Host(Box<Host>),
    Event(Box<Event>),
}

/// A stream of changes.
#[derive(Debug)]
pub struct Changes {
    download: Download,
    reader: Reader,
    cursor: Option<String>,
}

impl Client {
    /// Follows a cluster, or all of them; `cursor` is where another stream ended ([`Changes::cursor`]).
    ///
    /// # Errors
    ///
    /// Services without a live view answer 404.
    pub async fn watch(&self, cluster: Option<ClusterId>, cursor: Option<&str>) -> Result<Changes, Error> {
        let call = self.call(OperationId::Watch).query("cluster_id", cluster).header(LAST_EVENT_ID, cursor);
        let download = call.download().await?;
        if !download.content_type().is_some_and(|kind| kind.starts_with(EVENT_STREAM)) {
            return Err(malformed(de::Error::custom("it is no stream of events")));
        }
        Ok(Changes { download, reader: Reader::default(), cursor: cursor.map(str::to_owned) })
    }
}

impl Changes {
    /// The next change; `None`: the service ended the stream, for example because it stops. Kinds that this client does
    /// not know are passed over.
    ///
    /// # Errors
    ///
    /// The connection broke, or what came is not a message of the service. It is best to follow anew from
    /// [`Changes::cursor`].
    pub async fn next(&mut self) -> Result<Option<Change>, Error> {
        loop {
            while let Some(message) = self.reader.ready.pop_front() {
                if let Some(cursor) = message.id {
                    self.cursor = Some(cursor);
                }
                if let Some(change) = read(&message.event, &message.data)? {
                    return Ok(Some(change));
                }
            }
            let chunk = match tokio::time::timeout(SILENCE, self.download.chunk()).await {
                Ok(chunk) => chunk?,
                Err(_) => return Err(self.download.timed_out()),
            };
            let Some(chunk) = chunk else { return Ok(None) };
            if !self.reader.take(&chunk) {
                return Err(Error::TooLong { operation: name(), limit: LONGEST });
            }
        }
    }

    /// The cursor after the last change, with which a watch goes on.
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }
}

fn name() -> &'static str {
    OperationId::Watch.operation().name
}

fn malformed(source: serde_json::Error) -> Error {
    Error::Malformed { operation: name(), source }
}

pub(crate) fn read(kind: &str, data: &str) -> Result<Option<Change>, Error> {
    fn object<T: DeserializeOwned>(data: &str) -> Result<Box<T>, Error> {
        serde_json::from_str(data).map(Box::new).map_err(malformed)
    }
    let Ok(kind) = kind.parse() else { return Ok(None) };
    Ok(Some(match kind {
        ChangeKind::Reset => Change::Reset {},
        ChangeKind::Cluster => Change::Cluster(object(data)?),
        ChangeKind::Host => Change::Host(object(data)?),
        ChangeKind::Event => Change::Event(object(data)?),
    }))
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Message {
    id: Option<String>,
    pub(crate) event: String,
    pub(crate) data: String,
}

/// Makes messages of bytes.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    line: Vec<u8>,
    message: Message,
    pub(crate) ready: VecDeque<Message>,
}

impl Reader {
    /// Takes the next bytes; false when a message is too long.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> bool {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + piece.len() + self.message.data.len() > LONGEST {
                return false;
            }
            self.line.extend_from_slice(piece);
            if self.line.ends_with(b"\n") {
                let line = String::from_utf8_lossy(&take(&mut self.line)).into_owned();
                self.line(line.trim_end_matches(['\r', '\n']));
            }
        }
        true
    }

    fn line(&mut self, line: &str) {
        if line.is_empty() {
            let message = take(&mut self.message);
            if !message.data.is_empty() {
                self.ready.push_back(message);
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.message.id = Some(value.to_owned()),
            "event" => value.clone_into(&mut self.message.event),
            "data" => {
                if !self.message.data.is_empty() {
                    self.message.data.push('\n');
                }
                self.message.data.push_str(value);
            }
            // Comments begin with a colon; what else there may be is for others.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: Option<&str>, event: &str, data: &str) -> Message {
        Message { id: id.map(str::to_owned), event: event.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn messages_come_in_any_pieces() {
        let text =
            "retry: 1000\n\n:\n\nid: a-1\nevent: host\ndata: {}\n\ndata:x\r\ndata: y\r\n\r\nevent: cluster\n";
        for size in 1..text.len() {
            let mut reader = Reader::default();
            assert!(text.as_bytes().chunks(size).all(|piece| reader.take(piece)));
            assert_eq!(
                reader.ready,
                [message(Some("a-1"), "host", "{}"), message(None, "", "x\ny")],
                "{size}"
            );
        }
    }

    #[test]
    fn a_message_without_an_end_is_cut_off() {
        let mut reader = Reader::default();
        let megabyte = vec![b'x'; 1 << 20];
        assert_eq!((0..100).position(|_| !reader.take(&megabyte)), Some(16));
    }

    #[test]
    fn what_is_not_known_is_passed_over() {
        assert!(matches!(read("reset", "{}"), Ok(Some(Change::Reset {}))));
        assert!(matches!(read("weather", "rain"), Ok(None)));
        assert!(matches!(read("host", "{}"), Err(Error::Malformed { .. })));
    }
}
