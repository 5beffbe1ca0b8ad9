//! A host is installed into a cluster that runs already (state-machines §8.3).

use crate::decide::host;
use crate::decide::refresh::WorkingCopy;
use crate::model::decision::Decision;
use crate::model::event::catalogue;
use crate::model::facts::Facts;
use crate::model::host::HostKey;
use crate::model::refusal::Refusal;

/// Begins the installation of one host; its Ignition config must be stored before this is.
///
/// # Errors
///
/// `NotFound` when the host is not among the facts or not bound, `Conflict` when it joins no installed cluster, is not
/// ready, or is real and the service only simulates.
pub fn install_host(facts: &Facts, key: HostKey) -> Result<Decision, Refusal> {
    let mut draft = WorkingCopy::new(facts);
    let unknown = || Refusal::not_found(format!("Host {} not found", key.host_id));
    let place = draft.facts.hosts.iter().position(|host| host.key() == key).ok_or_else(unknown)?;
    host::install::may_install(&draft.facts.hosts[place])?;
    host::simulated::check(facts, &draft.facts.hosts[place])?;
    if let Some(cluster_id) = draft.facts.hosts[place].record.host.cluster_id
        && facts.policy.service.simulated
    {
        draft.events.push(catalogue::INSTALLATION_SIMULATED.of_cluster(cluster_id, &[]));
    }
    draft.reconcile();
    let (policy, now) = (&facts.policy, facts.now);
    host::install::install_day2(&mut draft.facts.hosts[place], policy, now, &mut draft.events)?;
    Ok(draft.reconciled())
}
