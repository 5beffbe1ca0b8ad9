//! The role that a host is to play, and the credentials that let its peer fence it.

use assisted_base::version::at_least;
use assisted_wire::cluster::Cluster;
use assisted_wire::host::HostRole;
use assisted_wire::host_params::{FencingCredentialsParams, HostRoleUpdateParams};
use assisted_wire::platform::PlatformType;

use super::{require_before_installation, text};
use crate::model::facts::{Facts, HostFacts};
use crate::model::refusal::{Refusal, RefusalKind};
use crate::policy::Policy;

pub(super) fn set(facts: &Facts, host: &mut HostFacts, role: HostRoleUpdateParams) -> Result<(), Refusal> {
    let (id, infra_env) = (host.record.host.id, host.key().infra_env_id);
    let role = match role {
        HostRoleUpdateParams::AutoAssign => HostRole::AutoAssign,
        HostRoleUpdateParams::Master => HostRole::Master,
        HostRoleUpdateParams::Arbiter => HostRole::Arbiter,
        HostRoleUpdateParams::Worker => HostRole::Worker,
    };
    if role == HostRole::Arbiter {
        if !facts.policy.clusters.tna_clusters_support {
            return Err(Refusal::invalid(format!(
                "TNA clusters support is disabled, cannot set role arbiter to host {id} in infra-env {infra_env}"
            )));
        }
        if let Some(record) = facts.cluster.as_ref().filter(|_| !host.is_day2()) {
            suits_arbiter(&record.cluster, &facts.policy).map_err(|reason| {
                Refusal::invalid(format!(
                    "Cannot set role arbiter to host {id} in infra-env {infra_env}: {reason}"
                ))
            })?;
        }
    }
    require_before_installation(host.record.host.status, RefusalKind::Internal, "host role")?;
    let (day2, fields) = (host.is_day2(), &mut host.record.host);
    if day2 {
        let old = fields.role.unwrap_or(HostRole::AutoAssign);
        let pool = &mut fields.machine_config_pool_name;
        if pool.is_empty() || pool == old.as_str() {
            role.as_str().clone_into(pool);
        }
    }
    if role == HostRole::Worker {
        fields.bootstrap = false;
    }
    (fields.role, fields.suggested_role) = (Some(role), Some(role));
    Ok(())
}

pub(super) fn set_fencing(
    facts: &Facts,
    host: &mut HostFacts,
    credentials: &FencingCredentialsParams,
) -> Result<(), Refusal> {
    let (id, infra_env) = (host.record.host.id, host.key().infra_env_id);
    if !facts.policy.clusters.tnf_clusters_support {
        return Err(Refusal::invalid(format!(
            "TNF clusters support is disabled, cannot set fencing credentials to host {id} in infra-env {infra_env}"
        )));
    }
    if let Some(record) = &facts.cluster {
        suits_fencing(&record.cluster, &facts.policy).map_err(|reason| {
            Refusal::invalid(format!(
                "Cannot set fencing credentials to host {id} in infra-env {infra_env}: {reason}"
            ))
        })?;
    }
    host.record.host.fencing_credentials = text(credentials)?;
    Ok(())
}

/// Whether a cluster can have an arbiter; if not, why.
pub(crate) fn suits_arbiter(cluster: &Cluster, policy: &Policy) -> Result<(), String> {
    if !policy.clusters.tna_clusters_support {
        return Err("TNA clusters support is disabled".to_owned());
    }
    let version = &cluster.openshift_version;
    if !at_least(version, 4, 19) {
        return Err("cluster's openshift version must be at least 4.19".to_owned());
    }
    let platform = cluster.platform.as_ref().ok_or("cluster's platform must be set")?;
    match platform.r#type {
        PlatformType::Baremetal => Ok(()),
        PlatformType::None if at_least(version, 4, 22) => Ok(()),
        _ if at_least(version, 4, 22) => Err("cluster's platform must be baremetal or none".to_owned()),
        _ => Err("cluster's platform must be baremetal".to_owned()),
    }
}

/// Whether the nodes of a cluster can fence each other; if not, why.
pub(crate) fn suits_fencing(cluster: &Cluster, policy: &Policy) -> Result<(), String> {
    if !policy.clusters.tnf_clusters_support {
        return Err("TNF clusters support is disabled".to_owned());
    }
    if !at_least(&cluster.openshift_version, 4, 20) {
        return Err("cluster's openshift version must be at least 4.20".to_owned());
    }
    match cluster.platform.as_ref().map(|platform| platform.r#type) {
        Some(PlatformType::Baremetal | PlatformType::None) => Ok(()),
        _ => Err("cluster's platform must be baremetal or none".to_owned()),
    }
}
