//! Logs of hosts and controllers: how their collection goes, their upload, their download (service-api §7.6, §7.7).
//!
//! What is uploaded is kept as it comes: nobody here unpacks it.

mod bundle;
mod download;
mod metadata;
mod pack;
mod progress;
mod room;
mod upload;

use assisted_blob::Key;
use assisted_core::model::facts::HostFacts;
use assisted_core::model::refusal::Refusal;
use assisted_wire::cluster::LogsType;
use assisted_wire::host::HostRole;
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::on_cluster_layering::Pool;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::stored_file::key;

pub(super) use room::LogRoom;

/// Name of each uploaded file.
const ARCHIVE: &str = "logs.tar.gz";

/// Whose logs are uploaded.
#[derive(Clone, Copy, Debug)]
pub struct UploadLogs {
    pub cluster_id: ClusterId,
    /// `host` or `controller`; others are kept by their type, and no event is emitted.
    pub logs_type: LogsType,
    /// Tells hosts of equal ids apart.
    pub infra_env_id: Option<InfraEnvId>,
    /// Wanted for the logs of a host.
    pub host_id: Option<HostId>,
}

/// Which logs to download.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct DownloadLogs {
    pub cluster_id: ClusterId,
    /// All of them unless it is `host` or `controller`.
    pub logs_type: Option<LogsType>,
    pub host_id: Option<HostId>,
}

/// Where logs of the cluster are kept, by their type.
fn cluster_key(cluster_id: ClusterId, logs_type: LogsType) -> Result<Key, Error> {
    key(cluster_id, &format!("logs/{logs_type}/{ARCHIVE}"))
}

/// Where logs of the build of a pool's image are kept (ocl-day1 §B10.1).
fn build_key(cluster_id: ClusterId, pool: Pool) -> Result<Key, Error> {
    key(cluster_id, &format!("logs/ocl/{pool}/{ARCHIVE}"))
}

fn host_key(cluster_id: ClusterId, host_id: HostId) -> Result<Key, Error> {
    key(cluster_id, &format!("logs/{host_id}/{ARCHIVE}"))
}

fn no_build(cluster_id: ClusterId) -> Refusal {
    Refusal::not_found(format!("No OS image is built for such a pool of cluster {cluster_id}"))
}

/// `<cluster>_<role>_<host>`, the start of the names of a host's logs.
fn stem(cluster: &str, host: &HostFacts) -> String {
    // As it is set: what the service suggests is another one tomorrow.
    let role = host.record.host.role.unwrap_or(HostRole::AutoAssign);
    let role = if host.record.host.bootstrap { HostRole::Bootstrap } else { role };
    format!("{}_{role}_{}", plain(cluster), plain(&host.name()))
}

/// A name with nothing in it that means something to a file system.
fn plain(name: &str) -> String {
    let name = name.to_lowercase();
    let letter = |letter: char| if letter.is_ascii_alphanumeric() || letter == '.' { letter } else { '-' };
    let plain: String = name.chars().take(100).map(letter).collect();
    plain.trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn names_for_file_systems() {
        for (name, expected) in [
            ("master-0.example.com", "master-0.example.com"),
            ("Master 0", "master-0"),
            ("../../etc/passwd", "-..-etc-passwd"),
            ("a\0\n\u{202e}b", "a---b"),
            ("..", ""),
        ] {
            assert_eq!(plain(name), expected);
        }
        assert_eq!(plain(&"ü".repeat(10_000)).len(), 100);
    }
}
