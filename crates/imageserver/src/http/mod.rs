//! HTTP/1.1 for files: heads are parsed strictly, answers are [layouts](assisted_isokit::Layout) whose file extents go from
//! the page cache to the socket without passing through this process (sendfile), or through TLS in large reads.
//!
//! A general HTTP library hands every byte of an answer through user space, which costs half of the throughput and most of
//! the processor time. Requests here have no bodies and answers have known lengths, so the part of HTTP that is needed is
//! small: heads, keep-alive, `HEAD`.

pub(crate) mod answer;
mod arrival;
pub(crate) mod conditional;
pub(crate) mod content;
pub(crate) mod cors;
pub(crate) mod head;
pub(crate) mod query;
pub(crate) mod range;
pub(crate) mod transport;

pub(crate) use answer::Answer;
pub(crate) use arrival::{Arrival, arrival};
pub(crate) use head::Head;
