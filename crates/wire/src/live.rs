//! The live view: what a stream of changes sends. An addition to the contract.

use crate::text_enum;

text_enum! {
    /// What a message of the stream carries; stands in its `event:` line.
    ///
    /// * `reset`, an empty object: what was sent before is void. The present state follows if one cluster is watched; who
    ///   watches all of them lists what it wants to know.
    /// * `cluster`: a cluster without its hosts; one that has `deleted_at` is gone.
    /// * `host`: a host without its reports; one that has `deleted_at`, or another cluster than the one that is watched, is
    ///   gone.
    /// * `event`: as the list of events shows it.
    #[schemars(inline)]
    pub enum ChangeKind {
        Reset = "reset",
        Cluster = "cluster",
        Host = "host",
        Event = "event",
    }
}

/// Header in which a client that was cut off sends the last `id:` that it has read.
pub const LAST_EVENT_ID: &str = "Last-Event-ID";

/// Content type of the stream.
pub const EVENT_STREAM: &str = "text/event-stream";

/// Seconds after which a stream without changes sends a sign of life.
pub const HEARTBEAT_SECONDS: u64 = 15;
