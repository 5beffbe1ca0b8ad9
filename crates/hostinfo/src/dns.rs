//! What the machine's own resolver makes of a list of names (agent-protocol §2.4.11).

use std::net::IpAddr;
use std::time::Duration;

use assisted_wire::probe_requests::DomainResolutionRequest;
use assisted_wire::probe_responses::{DomainResolution, DomainResolutionResponse, NtpSource};
use hickory_resolver::TokioResolver;
use hickory_resolver::config::LookupIpStrategy;
use hickory_resolver::net::NetError;
use hickory_resolver::proto::rr::{Name, RData, RecordType};

/// More names than any cluster asks for.
const MAX_DOMAINS: usize = 64;

/// The machine's resolver: `/etc/resolv.conf` and `/etc/hosts` as they are now, search domains included.
///
/// # Errors
/// When the configuration can't be read.
pub fn system_resolver() -> Result<TokioResolver, NetError> {
    let mut builder = TokioResolver::builder_tokio()?;
    let options = builder.options_mut();
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    // Each probe is to see what holds now.
    options.cache_size = 0;
    builder.build()
}

/// Addresses and final name of each domain, asked for at once, in the order of the request. A name that doesn't
/// resolve, for whatever reason, has empty lists. Names come back exactly as asked: the service matches by text.
pub async fn domain_resolution(
    request: &DomainResolutionRequest,
    resolver: &TokioResolver,
) -> DomainResolutionResponse {
    let answers = names(request).map(|name| resolve(name, resolver));
    DomainResolutionResponse { resolutions: futures::future::join_all(answers).await }
}

fn names(request: &DomainResolutionRequest) -> impl Iterator<Item = &str> {
    request.domains.iter().filter_map(|domain| domain.get("domain_name")?.as_str()).take(MAX_DOMAINS)
}

fn nothing(name: &str) -> DomainResolution {
    DomainResolution {
        domain_name: name.to_owned(),
        ipv4_addresses: Some(Vec::new()),
        ipv6_addresses: Some(Vec::new()),
        cnames: None,
    }
}

async fn resolve(name: &str, resolver: &TokioResolver) -> DomainResolution {
    let mut found = nothing(name);
    let lookup = match resolver.lookup_ip(name).await {
        Ok(lookup) => lookup,
        Err(error) => {
            tracing::debug!(name, %error, "name doesn't resolve");
            return found;
        }
    };
    for ip in lookup.iter() {
        match ip.to_canonical() {
            IpAddr::V4(ip) => found.ipv4_addresses.get_or_insert_default().push(ip),
            IpAddr::V6(ip) => found.ipv6_addresses.get_or_insert_default().push(ip),
        }
    }
    // The owner of the addresses is the name that all aliases lead to; without an alias it is the name itself.
    let mut records = lookup.as_lookup().answers().iter();
    let owner = records.rfind(|record| matches!(record.record_type(), RecordType::A | RecordType::AAAA));
    found.cnames = owner.map(|record| {
        let name = record.name.to_ascii();
        vec![if name.ends_with('.') { name } else { format!("{name}.") }]
    });
    found
}

/// What a machine without any resolver knows of each domain: nothing, which is an answer, not a failure.
pub fn unresolved(request: &DomainResolutionRequest) -> DomainResolutionResponse {
    DomainResolutionResponse { resolutions: names(request).map(nothing).collect() }
}

/// Puts names in the place of addresses where the resolver knows one within `limit` (agent-protocol §2.4.7), all at
/// once.
pub async fn name_sources(sources: &mut [NtpSource], resolver: &TokioResolver, limit: Duration) {
    let names = sources.iter().map(|source| async {
        tokio::time::timeout(limit, reverse(&source.source_name, resolver)).await.ok().flatten()
    });
    let names = futures::future::join_all(names).await;
    for (source, name) in sources.iter_mut().zip(names) {
        if let Some(name) = name {
            source.source_name = name;
        }
    }
}

/// The name that an address leads back to, without dots at its ends.
async fn reverse(address: &str, resolver: &TokioResolver) -> Option<String> {
    let ip: IpAddr = address.parse().ok()?;
    if ip.is_loopback() {
        // No name server knows who this machine is to itself.
        return None;
    }
    let lookup = resolver.lookup(Name::from(ip), RecordType::PTR).await.ok()?;
    let name = lookup.answers().iter().find_map(|record| match &record.data {
        RData::PTR(name) => Some(name.to_ascii()),
        _ => None,
    })?;
    Some(name.trim_matches('.').to_owned()).filter(|name| !name.is_empty())
}
