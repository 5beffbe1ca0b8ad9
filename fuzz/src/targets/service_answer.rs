//! What a service answers to our client: refusals, and the stream of changes.

use assisted_client::fuzz::{changes, refusal};

use crate::input;

pub fn run(bytes: &[u8]) {
    for content_type in [None, Some("application/json; charset=utf-8"), Some("text/html")] {
        let _ = refusal(content_type, bytes);
    }
    let (choice, stream) = input::choice(bytes);
    let whole = changes([stream]);
    assert_eq!(whole, changes(stream.chunks(choice + 1)), "pieces make no difference");
}
