//! Documents of registries and update services: manifests, configurations, what releases are made of, challenges.

use assisted_release::fuzz;

use super::api_request::headers;

pub fn run(bytes: &[u8]) {
    fuzz::documents(bytes);
    fuzz::challenge(&headers(bytes.split(|byte| *byte == b'\n')));
}
