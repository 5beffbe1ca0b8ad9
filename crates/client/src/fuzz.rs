//! Ways in for the fuzz targets (`fuzz/`) to what reads the answers of a service. Nothing else calls this.

use crate::ErrorBody;
use crate::watch::{Reader, read};

/// Reads the body of a refusal.
pub fn refusal(content_type: Option<&str>, body: &[u8]) -> ErrorBody {
    ErrorBody::read(content_type, body)
}

/// Reads a stream of changes that comes in pieces; kind and text of each message, and how many of them are changes.
pub fn changes<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<(String, String)>, usize) {
    let mut reader = Reader::default();
    for piece in pieces {
        if !reader.take(piece) {
            break;
        }
    }
    let messages: Vec<_> = reader.ready.into_iter().map(|message| (message.event, message.data)).collect();
    let changes = messages.iter().filter(|(kind, data)| matches!(read(kind, data), Ok(Some(_)))).count();
    (messages, changes)
}
