//! An installed cluster becomes one that hosts are added to (state-machines §3.15).

use assisted_wire::cluster::{ClusterKind, ClusterStatus};

use crate::decide::refresh::WorkingCopy;
use crate::model::decision::Decision;
use crate::model::facts::Facts;
use crate::model::refusal::Refusal;
use crate::model::topology;

/// Transforms the cluster. Its hosts stay as they are, as does the text about its state.
///
/// # Errors
///
/// `Invalid` when the cluster is not installed, or was not installed here.
pub fn transform(facts: &Facts) -> Result<Decision, Refusal> {
    let mut draft = WorkingCopy::new(facts);
    let Some(record) = &mut draft.facts.cluster else { return Ok(draft.unreconciled()) };
    let cluster = &mut record.cluster;
    let refuse = |expected: &str| {
        let id = cluster.id;
        Err(Refusal::invalid(format!("cannot transform cluster {id} to day2. Expected cluster {expected}")))
    };
    if cluster.status != ClusterStatus::Installed {
        return refuse(&format!("status: installed, but cluster status is: {}", cluster.status));
    }
    if cluster.kind != ClusterKind::Cluster {
        return refuse(&format!("kind: Cluster, but cluster kind is: {}", cluster.kind));
    }
    cluster.status = ClusterStatus::AddingHosts;
    cluster.kind = ClusterKind::AddHostsCluster;
    let vip = cluster.api_vips.iter().flatten().map(|vip| vip.ip.0.clone()).find(|ip| !ip.is_empty());
    let name = || format!("api.{}.{}", cluster.name, cluster.base_dns_domain);
    let vip = vip.filter(|_| !topology::is_user_managed_networking(cluster));
    cluster.api_vip_dns_name = Some(vip.unwrap_or_else(name));
    Ok(draft.reconciled())
}
