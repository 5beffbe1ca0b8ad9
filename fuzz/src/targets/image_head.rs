//! Heads of requests to the image service.

use assisted_imageserver::fuzz::head;

pub fn run(bytes: &[u8]) {
    if let Ok(Some(length)) = head(bytes) {
        assert!(length <= bytes.len());
        // What follows belongs to the next request, and changes nothing about this one.
        assert_eq!(head(bytes.get(..length).unwrap_or_default()), Ok(Some(length)));
    }
}
