//! What all who ask may hold together, and each of them.

use std::num::NonZeroUsize;
use std::time::Duration;

use crate::size::Size;
use crate::topic::topic;

const fn count(number: usize) -> NonZeroUsize {
    NonZeroUsize::MIN.saturating_add(number - 1)
}

topic! {
    /// Limits for those who ask. Who passes one is answered with status 503 or 429, for room with 507, and a time after which to
    /// come back.
    Limits {
        /// Most connections to the API at a time; further ones wait.
        connections: NonZeroUsize = count(16 * 1024), "MAX_CONNECTIONS";
        /// Most connections of one address at a time; further ones are closed. A proxy is one address.
        connections_per_peer: NonZeroUsize = count(12 * 1024), "MAX_CONNECTIONS_PER_PEER";
        /// Most bytes of requests that are held at a time.
        bodies: Size = Size(512 << 20), "MAX_REQUEST_BYTES";
        /// Most bytes of requests of one address that are held at a time. A proxy is one address.
        bodies_per_peer: Size = Size(384 << 20), "MAX_REQUEST_BYTES_PER_PEER";
        /// Most logs that are uploaded at a time.
        uploads: NonZeroUsize = count(512), "MAX_UPLOADS";
        /// Most logs that one address uploads at a time. A proxy is one address.
        uploads_per_peer: NonZeroUsize = count(384), "MAX_UPLOADS_PER_PEER";
        /// How fast logs have to come, in bytes a second.
        upload_rate: Size = Size(256), "MIN_UPLOAD_RATE";
        /// Most bytes of logs that are kept; further ones are refused. With several replicas it may be passed for minutes.
        logs: Size = Size(100 << 30), "MAX_LOG_BYTES";
        /// How long a client may take nothing of an answer before its connection is closed.
        write_timeout: Duration = Duration::from_secs(60), "WRITE_TIMEOUT";
        /// Most watches of one caller at a time.
        watches_per_caller: NonZeroUsize = count(250), "MAX_WATCHES_PER_CALLER";
        /// Most events that one caller may add in a minute.
        events_per_minute: NonZeroUsize = count(600), "MAX_EVENTS_PER_MINUTE";
        /// Bytes of answers to steps that one host may send each second; a minute's worth at once. Further ones are not read. What it says once
        /// more is not counted.
        reply_bytes_per_second: NonZeroUsize = count(1 << 20), "MAX_REPLY_BYTES_PER_SECOND";
        /// Most hosts of an infra-env; further ones don't register.
        hosts_per_infra_env: NonZeroUsize = count(5000), "MAX_HOSTS_PER_INFRA_ENV";
        /// Most clusters, and most infra-envs, of one user; further ones are refused. Where nobody logs in, they are not counted.
        objects_per_user: NonZeroUsize = count(10_000), "MAX_OBJECTS_PER_USER";
    }
}
