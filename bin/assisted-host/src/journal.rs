//! Log records for the system's journal, in its native datagrams. What log gathering looks for is the
//! tag: `agent` or `installer`.

use std::fmt::{self, Write};
use std::os::unix::net::UnixDatagram;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

const SOCKET: &str = "/run/systemd/journal/socket";

/// Longest message, in bytes: a datagram that is too long is lost whole.
const LONGEST_MESSAGE: usize = 32 << 10;

/// A connection to the journal.
#[derive(Debug)]
pub(crate) struct Journal {
    socket: UnixDatagram,
    tag: &'static str,
    dry_id: String,
}

impl Journal {
    /// Connects; `None` where there is no journal.
    pub(crate) fn open(tag: &'static str, dry_id: &str) -> Option<Self> {
        let socket = UnixDatagram::unbound().ok()?;
        socket.connect(SOCKET).ok()?;
        // A journal that is stuck must not hold the agent up.
        socket.set_nonblocking(true).ok()?;
        Some(Self { socket, tag, dry_id: dry_id.to_owned() })
    }
}

impl<S: Subscriber> Layer<S> for Journal {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line::default();
        event.record(&mut line);
        let priority = match *event.metadata().level() {
            Level::ERROR => 3,
            Level::WARN => 4,
            Level::INFO => 6,
            Level::DEBUG | Level::TRACE => 7,
        };
        let message = format!("{}{}", line.message, line.fields);
        let _ = self.socket.send(&record(priority, self.tag, &self.dry_id, &message));
    }
}

fn record(priority: u8, tag: &str, dry_id: &str, message: &str) -> Vec<u8> {
    let mut end = message.len().min(LONGEST_MESSAGE);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    let mut record = Vec::new();
    for (name, value) in [
        ("PRIORITY", priority.to_string().as_str()),
        ("SYSLOG_IDENTIFIER", tag),
        ("TAG", tag),
        ("DRY_AGENT_ID", dry_id),
        ("MESSAGE", &message[..end]),
    ] {
        // With its length in front a value may hold anything, line ends included.
        record.extend_from_slice(name.as_bytes());
        record.push(b'\n');
        record.extend_from_slice(&(value.len() as u64).to_le_bytes());
        record.extend_from_slice(value.as_bytes());
        record.push(b'\n');
    }
    record
}

/// An event as one line: the message, then `name=value` for each field.
#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_cannot_forge_fields() {
        let record = record(6, "agent", "", "one\nTAG=other");
        let text = String::from_utf8_lossy(&record);
        assert!(text.contains("TAG\n\u{5}\0\0\0\0\0\0\0agent\n"), "{text:?}");
        assert!(text.ends_with("MESSAGE\n\u{d}\0\0\0\0\0\0\0one\nTAG=other\n"), "{text:?}");
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let long = "é".repeat(LONGEST_MESSAGE);
        let record = record(6, "agent", "", &format!("x{long}"));
        assert!(record.len() < LONGEST_MESSAGE + 200);
        assert!(String::from_utf8_lossy(&record).ends_with("é\n"));
    }
}
