//! Log archives as hosts and controllers send them: small, but real.

use std::io::Write;
use std::sync::LazyLock;

use assisted_wire::cluster::LogsState;
use assisted_wire::cluster_params::LogsProgressParams;
use assisted_wire::id::ClusterId;
use assisted_wire::operation::BASE_PATH;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::Method;

use crate::action::{ActionSink, Call, Process};
use crate::host::SimHost;

/// What is in every archive.
const LOG: &[u8] = b"simulated: nothing to tell\n";

/// `logs.tar.gz` with one file in it.
static ARCHIVE: LazyLock<Vec<u8>> = LazyLock::new(|| archive().unwrap_or_default());

fn archive() -> std::io::Result<Vec<u8>> {
    let mut header = tar::Header::new_gnu();
    header.set_size(LOG.len() as u64);
    header.set_mode(0o644);
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    builder.append_data(&mut header, "agent.logs", LOG)?;
    let mut encoder = builder.into_inner()?;
    encoder.flush()?;
    encoder.finish()
}

/// A host's logs: announced, sent, done. The last request is sent by `last`, the others' answers tell nothing.
pub fn of_host(host: &SimHost, cluster_id: ClusterId, steps: Process, last: Process, out: &mut ActionSink) {
    let path = format!("{}/logs-progress", host.path());
    let told =
        |from, logs_state| Call::json(from, Method::PUT, path.clone(), &LogsProgressParams { logs_state });
    out.send(told(steps, LogsState::Requested));
    let upload = format!(
        "{BASE_PATH}/v2/clusters/{cluster_id}/logs?logs_type=host&host_id={}&infra_env_id={}",
        host.id, host.infra_env_id
    );
    out.send(Call::upload(steps, upload, "logs.tar.gz", &ARCHIVE));
    out.send(told(last, LogsState::Completed));
}

/// The calls with which a controller sends its logs, in order.
pub fn of_controller(cluster_id: ClusterId, from: Process) -> [Call; 3] {
    let cluster = format!("{BASE_PATH}/v2/clusters/{cluster_id}");
    let told = |logs_state| {
        Call::json(from, Method::PUT, format!("{cluster}/logs-progress"), &LogsProgressParams { logs_state })
    };
    [
        told(LogsState::Requested),
        Call::upload(from, format!("{cluster}/logs?logs_type=controller"), "logs.tar.gz", &ARCHIVE),
        told(LogsState::Completed),
    ]
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn the_archive_can_be_unpacked() {
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(ARCHIVE.as_slice()));
        let mut entry = archive.entries().unwrap().next().unwrap().unwrap();
        let mut text = Vec::new();
        entry.read_to_end(&mut text).unwrap();
        assert_eq!((entry.path().unwrap().to_str(), text.as_slice()), (Some("agent.logs"), LOG));
    }
}
