//! `sufficient-network-latency-requirement-for-role`, `sufficient-packet-loss-requirement-for-role`: links to hosts of
//! the same role are good enough (validations §2.5).

use std::collections::BTreeMap;
use std::fmt::Write;

use assisted_wire::host::HostRole;
use assisted_wire::id::HostId;
use assisted_wire::inventory::{Interface, Inventory};

use super::View;
use crate::model::connectivity_report::{Link, ParsedConnectivity};
use crate::model::outcome::Outcome;
use crate::model::report::ReportKind;
use crate::model::topology;
use crate::validation::scope::Report;

/// Offenders that are named; one more is followed by "and others".
const NAMED: usize = 5;

struct Quality {
    threshold: fn(&View<'_>) -> Option<f64>,
    value: fn(&Link) -> f64,
    worst: fn(&ParsedConnectivity) -> f64,
    satisfied: &'static str,
    missing: &'static str,
    unknown_host: fn(HostId) -> String,
    offender: fn(&str, f64) -> String,
    message: fn(&View<'_>, f64, &str) -> String,
}

const LATENCY: Quality = Quality {
    threshold: |view| view.total.network_latency_threshold_ms,
    value: |link| link.latency,
    worst: |connectivity| connectivity.worst_latency,
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
    value: |link| link.loss,
    worst: |connectivity| connectivity.worst_loss,
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
    let connectivity = match view.connectivity() {
        Report::Missing => return Outcome::awaits_report(quality.missing),
        Report::Broken => {
            return Outcome::error("Parse error while attempting to process the connectivity report");
        }
        Report::Read(connectivity) => connectivity,
    };
    if (quality.worst)(connectivity) <= limit {
        return Outcome::success(quality.satisfied);
    }
    match offenders(view, quality, limit, connectivity.links(view.host.report(ReportKind::Connectivity))) {
        Err(unknown) => Outcome::failure((quality.unknown_host)(unknown))
            .measured(format!("a link to {unknown}"))
            .required("links to hosts of the cluster")
            .remedy("Wait: the host reports its links to the cluster's present hosts anew."),
        Ok(offenders) if offenders.is_empty() => Outcome::success(quality.satisfied),
        Ok(offenders) => {
            let named = offenders.values().take(NAMED + 1);
            let named = named.map(|(name, value)| (quality.offender)(name, *value)).collect::<Vec<_>>();
            let text = named.join(", ") + if offenders.len() > NAMED { " and others..." } else { "" };
            Outcome::failure((quality.message)(view, limit, &text))
                .measured(text)
                .required(format!("at most {limit:.2}"))
                .remedy("Check cabling, switches and load between the hosts.")
        }
    }
}

/// Hosts of the same role behind links that are worse than the limit, by address: their name, and how bad the link is.
fn offenders<'a>(
    view: &View<'a>,
    quality: &Quality,
    limit: f64,
    links: &'a [Link],
) -> Result<BTreeMap<&'a str, (&'a str, f64)>, HostId> {
    let mut found = BTreeMap::new();
    for link in links {
        let value = (quality.value)(link);
        if value <= limit {
            continue;
        }
        let other = view.scope.host(link.to).ok_or(link.to)?;
        if other.effective_role() == view.role {
            found.entry(link.address.as_str()).or_insert((topology::host_name(other), value));
        }
    }
    Ok(found)
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
