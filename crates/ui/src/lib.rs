//! The web UI: the files that are embedded in the program, and the answer to a request for one.
//!
//! A program that was built without the UI answers each page with one that says how to get it. The UI asks the REST API of
//! its own origin and nothing else, which its [policy](answer) holds browsers to.

mod answer;
mod negotiate;

pub use answer::POLICY;

use bytes::Bytes;
use http::{HeaderMap, Method, Response};

/// A file in the forms that it can be sent in: compressed, or as it is.
#[derive(Clone, Copy, Debug)]
struct File {
    /// Relative to the folder of the UI, without a slash in front.
    path: &'static str,
    /// Changes with its content.
    tag: &'static str,
    plain: Option<&'static [u8]>,
    brotli: Option<&'static [u8]>,
    gzip: Option<&'static [u8]>,
}

/// The files, sorted by their paths; none in a program without the UI.
const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Whether this program has the UI.
pub const fn is_embedded() -> bool {
    !FILES.is_empty()
}

/// The answer to a request, if it is one for the UI: for one of its files, or for a page that a browser opens. `path` has no
/// repeated slashes. What the REST API and other routes answer has to be sorted out before.
pub fn answer(method: &Method, path: &str, headers: &HeaderMap) -> Option<Response<Bytes>> {
    answer::answer(FILES, method, path, headers)
}
