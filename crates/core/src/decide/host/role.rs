//! Which role suits a host: the weakest sufficient machines become masters, so that the strong ones are left to work
//! (state-machines §4.13).

use assisted_wire::host::{HostRole, HostStatus};
use assisted_wire::inventory::Inventory;

use crate::model::event::{NewEvent, catalogue};
use crate::model::facts::{Facts, HostFacts};
use crate::state::host::state::DISCOVERY;
use crate::validation::Scope;
use crate::validation::host::{fits_role, fits_role_and_operators};

const GIB: i64 = 1 << 30;

/// How strong a machine is, in no unit of its own.
fn weight(inventory: &Inventory) -> f64 {
    let cores = inventory.cpu.as_ref().map_or(0, |cpu| cpu.count);
    let memory = inventory.memory.as_ref().map_or(0, |memory| memory.usable_bytes / GIB);
    let eligible = inventory.disks.iter().flatten().filter(|disk| disk.installation_eligibility.eligible);
    let disks = eligible.fold(0_i64, |sum, disk| sum.saturating_add(disk.size_bytes / GIB));
    // Sizes of machines are far below 2^52, where the conversion would round.
    let beyond = |value: i64, least: i64| value.saturating_sub(least) as f64;
    beyond(cores, 4) + 0.1 * beyond(memory, 16) + 0.004 * beyond(disks, 100)
}

/// The hosts' places, weakest first: without GPU, then without inventory, then with GPU.
pub(crate) fn weakest_first(hosts: &[HostFacts]) -> Vec<usize> {
    let rank = |host: &HostFacts| match &host.inventory {
        Some(inventory) if inventory.gpus.iter().flatten().next().is_some() => (2, weight(inventory)),
        Some(inventory) => (0, weight(inventory)),
        None => (1, 0.0),
    };
    let mut ranked: Vec<_> = hosts.iter().enumerate().map(|(place, host)| (rank(host), place)).collect();
    ranked.sort_by(|((a, x), _), ((b, y), _)| a.cmp(b).then(x.total_cmp(y)));
    ranked.into_iter().map(|(_, place)| place).collect()
}

fn is_auto(host: &HostFacts) -> bool {
    matches!(host.record.host.role, None | Some(HostRole::AutoAssign))
}

/// Suggests roles to the hosts whose role is left to the service; whether any suggestion changed.
///
/// As soon as one host has no suggestion, all are made anew, in order of strength; and none is made before every host
/// has reported its inventory.
pub(crate) fn suggest(facts: &mut Facts, order: &[usize], events: &mut Vec<NewEvent>) -> bool {
    if !facts.policy.hosts.enable_auto_assign {
        return false;
    }
    let Some(suggestions) = suggestions(facts, order) else { return false };
    apply(facts, suggestions, events)
}

/// Gives each host the role that suits it, if it was left to the service; whether any role was given.
///
/// None is before every host has reported its inventory. Suggestions are made even where they are switched off otherwise.
pub fn fix(facts: &mut Facts, events: &mut Vec<NewEvent>) -> bool {
    if facts.hosts.iter().any(|host| host.inventory.is_none()) {
        return false;
    }
    let order = weakest_first(&facts.hosts);
    let Some(suggestions) = suggestions(facts, &order) else { return false };
    apply(facts, suggestions, events);
    let mut given = false;
    for host in facts.hosts.iter_mut().filter(|host| is_auto(host)) {
        let role = host.record.host.suggested_role.filter(|role| *role != HostRole::AutoAssign);
        if role.is_some() {
            host.record.host.role = role;
            given = true;
        }
    }
    given
}

/// Takes suggestions over, in the order of the hosts; whether any changed.
fn apply(facts: &mut Facts, suggestions: Vec<Option<HostRole>>, events: &mut Vec<NewEvent>) -> bool {
    let mut changed = false;
    for (host, new) in facts.hosts.iter_mut().zip(suggestions) {
        if host.record.host.suggested_role == new {
            continue;
        }
        host.record.host.suggested_role = new;
        changed = true;
        if let Some(role) = new.filter(|role| *role != HostRole::AutoAssign) {
            events.push(catalogue::HOST_ROLE_UPDATED.of_host(host, &[("suggested_role", &role)]));
        }
    }
    changed
}

/// The suggestion of each host, in the order of the hosts; `None` without a cluster, or a host to suggest a role to.
fn suggestions(facts: &Facts, order: &[usize]) -> Option<Vec<Option<HostRole>>> {
    if !facts.hosts.iter().any(is_auto) {
        return None;
    }
    let wanted = facts.cluster.as_ref()?.cluster.control_plane_count;
    let mut roles: Vec<_> = facts.hosts.iter().map(|host| host.record.host.suggested_role).collect();
    let open = |host: &HostFacts| {
        let gone = matches!(host.record.host.status, HostStatus::Disconnected | HostStatus::Disabled);
        let suggested = matches!(host.record.host.suggested_role, Some(role) if role != HostRole::AutoAssign);
        is_auto(host) && !host.is_day2() && !gone && !suggested
    };
    if facts.hosts.iter().any(open) {
        let auto = roles.iter_mut().zip(&facts.hosts).filter(|(_, host)| is_auto(host));
        auto.for_each(|(role, _)| *role = Some(HostRole::AutoAssign));
    }
    if facts.hosts.iter().any(|host| host.inventory.is_none()) {
        return Some(roles);
    }
    let scope = Scope::new(facts);
    let effective = |host: &HostFacts, suggested: Option<HostRole>| match host.record.host.role {
        Some(role) if role != HostRole::AutoAssign => role,
        _ => suggested.unwrap_or(HostRole::AutoAssign),
    };
    let count = |role| {
        let all = facts.hosts.iter().zip(&roles);
        let counted = all.filter(|(host, suggested)| effective(host, **suggested) == role).count();
        i64::try_from(counted).unwrap_or(i64::MAX)
    };
    let (mut masters, mut arbiters) = (count(HostRole::Master), count(HostRole::Arbiter));
    for &place in order {
        let host = &facts.hosts[place];
        if !is_auto(host) || !DISCOVERY.contains(&host.record.host.status) {
            continue;
        }
        let before = effective(host, roles[place]);
        masters -= i64::from(before == HostRole::Master);
        arbiters -= i64::from(before == HostRole::Arbiter);
        let role = if host.is_day2() {
            HostRole::Worker
        } else if masters < wanted && fits_role_and_operators(&scope, host, HostRole::Master) {
            HostRole::Master
        } else if wanted == 2 && arbiters == 0 && fits_role(&scope, host, HostRole::Arbiter) {
            HostRole::Arbiter
        } else {
            HostRole::Worker
        };
        masters += i64::from(role == HostRole::Master);
        arbiters += i64::from(role == HostRole::Arbiter);
        roles[place] = Some(role);
    }
    Some(roles)
}
