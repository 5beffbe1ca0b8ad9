//! `dns-wildcard-not-configured`: names of the cluster that nobody defined do not resolve.

use assisted_wire::probe_responses::{DomainResolution, DomainResolutionResponse};

use super::View;
use crate::model::outcome::Outcome;
use crate::model::report::ReportKind;
use crate::validation::scope::Report;

pub(super) fn check(view: &View<'_>) -> Outcome {
    let Some(cluster) = view.cluster else { return Outcome::suppressed() };
    if view.host.is_day2() {
        return Outcome::success("DNS wildcard check is not required for day2");
    }
    let report: DomainResolutionResponse = match view.report(ReportKind::DomainNameResolutions) {
        Report::Missing => {
            return Outcome::awaits_report(
                "DNS wildcard check cannot be performed yet because the host has not yet performed DNS resolution",
            );
        }
        Report::Broken => return Outcome::error("Error while parsing DNS resolution response"),
        Report::Read(report) => report,
    };
    let (name, domain) = (&cluster.name, &cluster.base_dns_domain);
    let relative = format!("validateNoWildcardDNS.{name}.{domain}");
    let absolute = format!("{relative}.");
    let find = |wanted: &str| report.resolutions.iter().find(|each| each.domain_name == wanted);
    let missing = || {
        Outcome::error(
            "Internal error - DNS wildcard check cannot be performed because the DNS validation result doesn't \
             contain the wildcard domain",
        )
    };
    let Some(found) = find(&absolute) else { return missing() };
    let targets = targets(found);
    if !targets.is_empty() {
        return Outcome::failure(format!(
            "DNS wildcard configuration was detected for domain *.{name}.{domain} - the installation will not be able \
             to complete while this record exists. Please remove it to proceed. The domain resolves to {}",
            targets.join(", ")
        ))
        .measured(format!("resolves to {}", targets.join(", ")))
        .required("no answer")
        .remedy("Remove the wildcard record from DNS.");
    }
    let Some(found) = find(&relative) else { return missing() };
    let targets = self::targets(found);
    if !targets.is_empty() {
        return Outcome::failure(format!(
            "Unexpected domain name resolution was detected for the relative domain name with the sub-domain \
             *.{name}.{domain} despite the fact that no resolution exists for a Fully Qualified Domain Name (FQDN) \
             with same sub-domain. This is usually a sign of DHCP-provided domain-search configuration. The \
             installation will not be able to complete with this configuration in place. Please remove it to proceed. \
             The relative domain name resolves to {}",
            targets.join(", ")
        ))
        .measured(format!("resolves to {}", targets.join(", ")))
        .required("no answer")
        .remedy("Remove the search domain that DHCP hands out, or the wildcard record in it.");
    }
    Outcome::success("DNS wildcard check was successful")
}

/// Whatever a name resolves to: IPv4, IPv6, other names.
pub(super) fn targets(resolution: &DomainResolution) -> Vec<String> {
    let v4 = resolution.ipv4_addresses.iter().flatten().map(ToString::to_string);
    let v6 = resolution.ipv6_addresses.iter().flatten().map(ToString::to_string);
    v4.chain(v6).chain(resolution.cnames.iter().flatten().cloned()).collect()
}
