//! Whether the features in use go with the version, the architecture and each other (service-api §10.5, "Enforcement").

use assisted_base::version::at_least;
use assisted_wire::cluster::ClusterKind;
use assisted_wire::cluster_params::{CpuArchitecture, NetworkType};
use assisted_wire::support_level::SupportLevel;

use super::active::Configuration;
use crate::catalogue::feature::levels;
use crate::catalogue::feature::rule::Target;
use crate::catalogue::release::architecture::normal;
use crate::model::refusal::Refusal;

/// Refuses a configuration whose features don't go together.
///
/// `architecture` is the one that was asked for; `None` leaves the checks of architectures out. Clusters that only take
/// further hosts are exempt.
pub fn check(
    configuration: &Configuration<'_>,
    version: &str,
    architecture: Option<CpuArchitecture>,
) -> Result<(), Refusal> {
    let cluster = configuration.cluster.map(|record| &record.cluster);
    if cluster.is_some_and(|cluster| cluster.kind == ClusterKind::AddHostsCluster) {
        return Ok(());
    }
    let sdn = cluster.is_some_and(|cluster| cluster.network_type == Some(NetworkType::OpenShiftSDN));
    if sdn && at_least(version, 4, 15) {
        return Err(Refusal::invalid(format!(
            "Openshift version {version} is not supported for OpenShiftSDN NetworkType"
        )));
    }
    let active = configuration.active();
    if let Some(architecture) = architecture.filter(|_| !version.is_empty()) {
        let architecture = normal(architecture);
        let level = levels::architecture_level(levels::architecture_id(architecture), version);
        if level == SupportLevel::Unavailable {
            return Err(Refusal::invalid(format!(
                "cannot use {architecture} architecture because it's not compatible on version {version} of OpenShift"
            )));
        }
        let target = Target::new(version, architecture);
        if let Some(id) = active.iter().find(|id| !levels::is_available(**id, &target)) {
            return Err(Refusal::invalid(format!(
                "cannot use {} because it's not compatible with the {architecture} architecture on version {version} of \
                 OpenShift",
                levels::name(*id)
            )));
        }
    }
    for id in &active {
        let Some(rule) = levels::of(*id) else { continue };
        if let Some(other) = rule.excluded_features(version).find(|other| active.contains(other)) {
            return Err(Refusal::invalid(format!(
                "cannot use {} because it's not compatible with {}",
                rule.name,
                levels::name(other)
            )));
        }
    }
    Ok(())
}
