//! Forms in which hosts send their logs. The first byte says in how many pieces the form comes, the first line what it calls itself.

use assisted_api::fuzz::form;

use crate::input;

pub fn run(bytes: &[u8]) {
    let (choice, rest) = input::choice(bytes);
    let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    let (Some(content_type), body) = (input::text(&rest[..end]), rest.get(end + 1..).unwrap_or_default())
    else {
        return;
    };
    let file = form(content_type, &[body]);
    if let Some(file) = &file {
        assert!(file.len() < body.len(), "a file is in the form");
    }
    let length = body.len().div_ceil(choice % 64 + 1).max(1);
    let pieces: Vec<_> = body.chunks(length).collect();
    let in_pieces = form(content_type, &pieces);
    // A form that ends where its file begins is an empty file or none, as its pieces come.
    if in_pieces.as_ref().or(file.as_ref()).is_some_and(|file| !file.is_empty()) {
        assert_eq!(in_pieces, file, "in which pieces a form comes makes no difference");
    }
}
