//! Step `domain-resolution`: what the host's resolver makes of the cluster's names (agent-protocol §2.4.11).

use assisted_hostinfo::dns;
use assisted_wire::probe_requests::DomainResolutionRequest;
use tracing::warn;

use super::{only_arg, output};
use crate::reply::Outcome;

pub(super) async fn run(args: &[String]) -> Outcome {
    let request: DomainResolutionRequest = match only_arg("domain resolution", args) {
        Ok(request) => request,
        Err(outcome) => return outcome,
    };
    match dns::system_resolver() {
        Ok(resolver) => output(&dns::domain_resolution(&request, &resolver).await),
        Err(error) => {
            warn!(%error, "the resolver's configuration can't be read: no name resolves");
            output(&dns::unresolved(&request))
        }
    }
}
