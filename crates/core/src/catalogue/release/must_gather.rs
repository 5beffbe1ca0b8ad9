//! Images that collect data of a failed cluster (install-generation §10.2).

use std::collections::BTreeMap;

use assisted_base::version::base;
use assisted_wire::cluster_params::CpuArchitecture;

use crate::policy::Versions;

/// Those that are named for a version, by what they know; the release itself brings one more.
pub fn named(versions: &Versions, version: &str, architecture: CpuArchitecture) -> BTreeMap<String, String> {
    let minor = base(version).map(|base| base.to_string()).unwrap_or_default();
    let keys = [format!("{version}-{architecture}"), format!("{minor}-{architecture}"), minor];
    keys.iter().find_map(|key| versions.must_gather.get(key)).cloned().unwrap_or_default()
}
