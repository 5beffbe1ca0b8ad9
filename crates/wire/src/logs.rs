//! Logs of clusters and hosts.

use crate::text_enum;

text_enum! {
    #[schemars(rename = "logs_state")]
    pub enum LogsState {
        Requested = "requested",
        Collecting = "collecting",
        Completed = "completed",
        Timeout = "timeout",
        Empty = "",
    }
}
