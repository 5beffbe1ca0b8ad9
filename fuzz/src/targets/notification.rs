//! Notifications out of the database: whoever may write to it may send them.

use crate::input;

pub fn run(bytes: &[u8]) {
    let Some(text) = input::text(bytes) else { return };
    if let Some(written) = assisted_store::fuzz::notification(text) {
        for payload in written {
            assert!(assisted_store::fuzz::notification(&payload).is_some(), "what is written is read again");
        }
    }
}
