//! Names of images.

use assisted_release::{Digest, Reference};

use crate::input;

pub fn run(bytes: &[u8]) {
    let Some(text) = input::text(bytes) else { return };
    if let Ok(reference) = text.parse::<Reference>() {
        assert_eq!(reference.to_string().parse(), Ok(reference), "a name reads as it is written");
    }
    if let Ok(digest) = text.parse::<Digest>() {
        assert_eq!(digest.to_string().parse(), Ok(digest));
    }
}
