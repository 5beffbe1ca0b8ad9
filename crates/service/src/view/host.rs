//! A host as the API shows it: the stored record with its reports laid over it (service-api §1.4, §4.7, §6.3).

use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::facts::HostFacts;
use assisted_core::state::host::stage;
use assisted_wire::host::Host;

/// The host as it is stored, with its reports but the free addresses, which clients never see.
pub(crate) fn raw_host(facts: &HostFacts) -> Host {
    let mut host = full_host(facts);
    host.free_addresses.clear();
    host
}

/// The host as it is stored, with all its reports.
pub(crate) fn full_host(facts: &HostFacts) -> Host {
    let mut host = facts.record.host.clone();
    for (kind, text) in facts.reports.iter() {
        *kind.field(&mut host) = text.to_string();
    }
    host.checked_in_at = facts.checked_in_at.into();
    host.ignition_endpoint_token_set = !facts.record.ignition_endpoint_token.is_empty();
    host
}

/// The host with a name for people and, given how its cluster installs, the stages that it will go through.
pub(crate) fn render_host(facts: &HostFacts, cluster: Option<&ClusterRecord>, strip: bool) -> Host {
    let mut host = if strip { raw_host(facts) } else { full_host(facts) };
    host.requested_hostname = facts.name();
    host.progress_stages = Some(stage::of_record(&facts.record.host, cluster));
    host
}
