//! Logs of a host: asked for, on their way, there (state-machines §4.10).

use assisted_wire::cluster::LogsState;
use jiff::Timestamp;

use crate::model::decision::Decision;
use crate::model::event::catalogue;
use crate::model::facts::HostFacts;

/// The progress that whoever collects the logs of a host reports.
pub fn progress(host: &HostFacts, state: LogsState, now: Timestamp) -> Decision {
    let mut after = host.clone();
    let fields = &mut after.record.host;
    fields.logs_info = Some(state);
    if state == LogsState::Requested {
        fields.logs_started_at = now.into();
    }
    Decision::of_host(host, after, now, Vec::new())
}

/// Logs of a host were stored, perhaps not the last ones.
pub fn uploaded(host: &HostFacts, now: Timestamp) -> Decision {
    let mut after = host.clone();
    let fields = &mut after.record.host;
    fields.logs_info = Some(LogsState::Collecting);
    fields.logs_collected_at = now.into();
    let events = vec![catalogue::HOST_LOGS_UPLOADED.of_host(&after, &[])];
    Decision::of_host(host, after, now, events)
}
