//! `api-vips-defined`, `api-vips-valid`, `ingress-vips-defined`, `ingress-vips-valid`: the addresses at which the
//! cluster is reached.

use std::time::Duration;

use assisted_wire::network::VipVerification;

use super::View;
use super::machine_cidr::undiscovered;
use crate::model::deadline;
use crate::model::outcome::Outcome;
use crate::network::family;
use crate::network::vip::{self, FreeCheck};

/// How long DHCP servers may take to lease the VIPs.
pub(crate) const LEASES: Duration = Duration::from_secs(2 * 60);

const SET: &str = "Choose free addresses in the machine network, and set them as the cluster's virtual IPs.";

struct Kind {
    /// As messages about presence call it.
    title: &'static str,
    /// As messages about validity call one, and several.
    one: &'static str,
    several: &'static str,
    vips: for<'a> fn(&'a View<'_>) -> Vec<Vip<'a>>,
}

struct Vip<'a> {
    ip: &'a str,
    verification: Option<VipVerification>,
}

const API: Kind = Kind {
    title: "API",
    one: "api vip",
    several: "api vips",
    vips: |view| {
        let vips = view.cluster.api_vips.iter().flatten();
        vips.map(|vip| Vip { ip: &vip.ip.0, verification: vip.verification }).collect()
    },
};

const INGRESS: Kind = Kind {
    title: "Ingress",
    one: "ingress vip",
    several: "ingress vips",
    vips: |view| {
        let vips = view.cluster.ingress_vips.iter().flatten();
        vips.map(|vip| Vip { ip: &vip.ip.0, verification: vip.verification }).collect()
    },
};

pub(super) fn check_api_defined(view: &View<'_>) -> Outcome {
    check_defined(view, &API)
}

pub(super) fn check_ingress_defined(view: &View<'_>) -> Outcome {
    check_defined(view, &INGRESS)
}

pub(super) fn check_api_valid(view: &View<'_>) -> Outcome {
    check_valid(view, &API)
}

pub(super) fn check_ingress_valid(view: &View<'_>) -> Outcome {
    check_valid(view, &INGRESS)
}

fn not_required(view: &View<'_>, title: &str) -> Option<Outcome> {
    let reason = match (view.user_managed, view.single_node) {
        (true, _) => "User Managed Networking",
        (false, true) => "SNO",
        (false, false) => return None,
    };
    Some(Outcome::success(format!("{title} virtual IPs are not required: {reason}")))
}

fn check_defined(view: &View<'_>, kind: &Kind) -> Outcome {
    let title = kind.title;
    if let Some(outcome) = not_required(view, title) {
        return outcome;
    }
    if !(kind.vips)(view).is_empty() {
        return Outcome::success(format!("{title} virtual IPs are defined."));
    }
    if !view.dhcp {
        return Outcome::failure(format!("{title} virtual IPs are undefined and must be provided."))
            .measured("none")
            .required("one, or two for dual stack")
            .remedy(SET);
    }
    if !view.is_machine_cidr_defined() {
        return Outcome::pending("The Machine Network CIDR is undefined")
            .measured("none")
            .required("a machine network")
            .remedy("Set the cluster's machine network.");
    }
    let outcome = if vips_timed_out(view) {
        Outcome::failure(format!(
            "{title} virtual IPs are undefined; IP allocation from the DHCP server timed out."
        ))
    } else {
        Outcome::failure(format!(
            "{title} virtual IPs are undefined; after the Machine Network CIDR has been defined, {title} virtual IPs \
             are received from a DHCP lease allocation task which may take up to 2 minutes."
        ))
    };
    outcome
        .measured("no lease")
        .required("a lease")
        .remedy("Check that the DHCP server has free addresses, or switch VIP allocation by DHCP off.")
}

/// Whether the DHCP server had its time since the machine network was set.
fn vips_timed_out(view: &View<'_>) -> bool {
    let record = view.facts.cluster.as_ref();
    record
        .and_then(|record| record.machine_network_cidr_updated_at)
        .is_some_and(|since| view.facts.now > deadline::after(since, LEASES))
}

fn check_valid(view: &View<'_>, kind: &Kind) -> Outcome {
    if let Some(outcome) = not_required(view, kind.title) {
        return outcome;
    }
    let vips = (kind.vips)(view);
    let Some(first) = vips.first() else {
        return Outcome::pending(format!("{} virtual IPs are undefined.", kind.title))
            .measured("none")
            .required("one, or two for dual stack")
            .remedy(SET);
    };
    if !view.has_inventories() || !view.is_machine_cidr_defined() {
        return undiscovered();
    }
    let refused = |text: String, ips: &str| {
        Outcome::failure(text)
            .measured(ips.to_owned())
            .required("addresses in the machine network that nobody uses")
            .remedy("Choose virtual IPs in the machine network that nobody uses.")
    };
    let mut networks = family::machine_networks(view.cluster);
    if view.user_load_balanced {
        let verdict = vip::verify_any(kind.one, first.ip, networks);
        return if verdict.is_success() {
            Outcome::success(format!("{} {} is valid", kind.one, first.ip))
        } else {
            refused(verdict.reason, first.ip)
        };
    }
    let mut reasons = Vec::new();
    for each in &vips {
        let network = networks.next().unwrap_or_default();
        let verdict = vip::verify(kind.several, each.ip, network, Some(&free_check(view, each, network)));
        if !verdict.is_success() {
            reasons.push(verdict.reason);
        }
    }
    let ips: Vec<&str> = vips.iter().map(|vip| vip.ip).collect();
    let ips = ips.join(", ");
    if reasons.is_empty() {
        let name = kind.several;
        Outcome::success(format!("{name} {ips} belongs to the Machine CIDR and is not in use."))
    } else {
        refused(reasons.join(";"), &ips)
    }
}

fn free_check<'a>(view: &View<'a>, vip: &Vip<'_>, network: &'a str) -> FreeCheck<'a> {
    // What was verified needs no look at what the hosts found.
    let known = matches!(vip.verification, Some(VipVerification::Succeeded | VipVerification::Failed));
    let free = if known { None } else { view.scope.free().of(network) };
    FreeCheck { stored: vip.verification, free, cidr: network, hosts: view.facts.hosts.len() }
}
