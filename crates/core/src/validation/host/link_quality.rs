//! `sufficient-network-latency-requirement-for-role`, `sufficient-packet-loss-requirement-for-role`: links to hosts of
//! the same role are good enough (validations §2.5).

use std::collections::BTreeMap;
use std::fmt::Write;

use assisted_wire::host::HostRole;
use assisted_wire::id::HostId;
use assisted_wire::inventory::{Interface, Inventory};
use assisted_wire::probe_responses::{ConnectivityReport, L3Connectivity};

use super::View;
use crate::host::report::ReportKind;
use crate::network::heard::Heard;
use crate::validation::scope::Report;
use crate::validation::{Outcome, topology};

/// Offenders that are named; one more is followed by "and others".
const NAMED: usize = 5;

struct Quality {
    threshold: fn(&View<'_>) -> Option<f64>,
    value: fn(&L3Connectivity) -> f64,
    worst: fn(&Heard) -> f64,
    satisfied: &'static str,
    missing: &'static str,
    unknown_host: fn(HostId) -> String,
    offender: fn(&str, f64) -> String,
    message: fn(&View<'_>, f64, &str) -> String,
}

const LATENCY: Quality = Quality {
    threshold: |view| view.total.network_latency_threshold_ms,
    value: |link| link.average_rtt_ms,
    worst: |heard| heard.worst_latency,
    satisfied: "Network latency requirement has been satisfied.",
    missing: "Missing network latency information.",
    unknown_host: |id| {
        format!("Error while attempting to validate network latency: host with ID {id} was not found")
    },
    offender: |name, value| format!("{name} ({value:.2} ms)"),
    message: |view, limit, offenders| {
        let id = view.record().id;
        let mut text = format!(
            "A total network latency above the tolerated threshold of {limit:.2} ms was encountered when performing \
             network latency tests between host {id} and {offenders}\\n"
        );
        if !interfaces(view).is_empty() {
            let name = view.name();
            text += "Actions:\n";
            let _ = write!(
                text,
                "1: Please try the following commands on the host {name} and examine averages to investigate the \
                 latency issue further\n\n"
            );
            text += &pings(view);
        }
        text
    },
};

const LOSS: Quality = Quality {
    threshold: |view| view.total.packet_loss_percentage,
    value: |link| link.packet_loss_percentage,
    worst: |heard| heard.worst_loss,
    satisfied: "Packet loss requirement has been satisfied.",
    missing: "Missing packet loss information.",
    unknown_host: |id| {
        format!("Error while attempting to validate packet loss validation: host with ID {id} was not found")
    },
    offender: |name, value| format!("{name} ({value:.2}%)"),
    message: |view, limit, offenders| {
        let id = view.record().id;
        let mut text = format!(
            "A total packet loss above the tolerated threshold of {limit:.2}% was encountered when performing \
             connectivity validation between host {id} and {offenders}\\n"
        );
        text += "Actions:\n1: Check if there are multiple devices on the same L2 network, if so then use the built-in \
                 nmstate-based advanced networking configuration to create a bond or disable all but one of the \
                 interfaces.\n";
        if !interfaces(view).is_empty() {
            let name = view.name();
            let _ = write!(
                text,
                "2: Please try the following commands on the host {name} to investigate the packet loss further\n\n"
            );
            text += &pings(view);
        }
        text
    },
};

pub(super) fn check_latency(view: &View<'_>) -> Outcome {
    check(view, &LATENCY)
}

pub(super) fn check_loss(view: &View<'_>) -> Outcome {
    check(view, &LOSS)
}

fn check(view: &View<'_>, quality: &Quality) -> Outcome {
    if view.inventory.is_none() {
        return Outcome::awaits_inventory("The inventory is not available yet.");
    }
    if view.cluster.is_none() {
        return Outcome::suppressed();
    }
    let limit = match (quality.threshold)(view) {
        Some(limit)
            if view.facts.hosts.len() > 1 && view.role != HostRole::AutoAssign && !view.host.is_day2() =>
        {
            limit
        }
        _ => return Outcome::success(quality.satisfied),
    };
    // Read in full only if there is something to find.
    if view.host.heard.as_ref().is_some_and(|heard| (quality.worst)(heard) <= limit) {
        return Outcome::success(quality.satisfied);
    }
    let report: ConnectivityReport = match view.report(ReportKind::Connectivity) {
        Report::Missing => return Outcome::awaits_report(quality.missing),
        Report::Broken => {
            return Outcome::error("Parse error while attempting to process the connectivity report");
        }
        Report::Read(report) => report,
    };
    match offenders(view, quality, limit, &report) {
        Err(unknown) => Outcome::failure((quality.unknown_host)(unknown))
            .measured(format!("a link to {unknown}"))
            .required("links to hosts of the cluster")
            .remedy("Wait: the host reports its links to the cluster's present hosts anew."),
        Ok(offenders) if offenders.is_empty() => Outcome::success(quality.satisfied),
        Ok(mut offenders) => {
            let others = offenders.len() > NAMED;
            offenders.truncate(NAMED + 1);
            let text = offenders.join(", ") + if others { " and others..." } else { "" };
            Outcome::failure((quality.message)(view, limit, &text))
                .measured(text)
                .required(format!("at most {limit:.2}"))
                .remedy("Check cabling, switches and load between the hosts.")
        }
    }
}

/// Hosts of the same role behind links that are worse than the limit, one per address.
fn offenders(
    view: &View<'_>,
    quality: &Quality,
    limit: f64,
    report: &ConnectivityReport,
) -> Result<Vec<String>, HostId> {
    let mut found: BTreeMap<&str, String> = BTreeMap::new();
    for remote in report.remote_hosts.iter().flatten() {
        let id = remote.host_id.unwrap_or_default();
        for link in remote.l3_connectivity.iter().flatten() {
            let value = (quality.value)(link);
            if value <= limit {
                continue;
            }
            let other = view.scope.hosts_by_id.get(&id).ok_or(id)?;
            if other.effective_role() == view.role {
                let text = (quality.offender)(topology::host_name(other), value);
                found.entry(&link.remote_ip_address).or_insert(text);
            }
        }
    }
    Ok(found.into_values().collect())
}

fn interfaces<'a>(view: &View<'a>) -> &'a [Interface] {
    let of = |inventory: &'a Inventory| inventory.interfaces.as_deref();
    view.inventory.and_then(of).unwrap_or_default()
}

/// Commands that a person may try on the host.
fn pings(view: &View<'_>) -> String {
    let mut text = String::new();
    for nic in interfaces(view) {
        for (index, address) in nic.ipv4_addresses.iter().flatten().enumerate() {
            if index == NAMED {
                text += "etc... \n";
                break;
            }
            let _ = writeln!(text, "ping -c 10 -W 3 -q -I {} {address}", nic.name);
        }
    }
    text
}
