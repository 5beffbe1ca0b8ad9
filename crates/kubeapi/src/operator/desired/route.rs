//! Routes of OpenShift: under which names hosts and people reach what runs. Who chose a route's host keeps it.

use assisted_crd::agent_install::agent_service_config::IpxeHttpRoute;
use serde_json::{Value, json};

use super::{Input, annotated, labelled, object};
use crate::operator::{IMAGE_SERVICE, SERVICE};

/// How long an answer may take to begin: an image is looked for, or an installer run, while nobody sees a byte of it. The router waits for
/// 30 s unless it is told otherwise.
const TIMEOUT: (&str, &str) = ("haproxy.router.openshift.io/timeout", "120s");

pub(super) fn api(input: &Input<'_>) -> Value {
    reencrypting(input, SERVICE)
}

pub(super) fn images(input: &Input<'_>) -> Value {
    reencrypting(input, IMAGE_SERVICE)
}

fn reencrypting(input: &Input<'_>, name: &str) -> Value {
    let mut route = labelled(object(input, "route.openshift.io/v1", "Route", name), "app", SERVICE);
    route["spec"] = json!({
        "to": {"kind": "Service", "name": name, "weight": 100},
        "port": {"targetPort": name},
        "wildcardPolicy": "None",
        "tls": {"termination": "reencrypt"},
    });
    annotated(route, TIMEOUT.0, TIMEOUT.1)
}

/// Whether what iPXE loads is served without TLS, too.
pub(super) fn is_insecure(input: &Input<'_>) -> bool {
    input.config.spec.ipxe_http_route == Some(IpxeHttpRoute::Enabled)
}

/// The route without TLS, under the host of the other; none as long as that has none.
pub(super) fn ipxe(input: &Input<'_>, name: &str) -> Option<Value> {
    let host = input.facts.route_hosts.get(name)?;
    let own = format!("{name}-ipxe");
    let mut route = labelled(object(input, "route.openshift.io/v1", "Route", &own), "app", SERVICE);
    route["spec"] = json!({
        "host": host,
        "path": "/",
        "to": {"kind": "Service", "name": name, "weight": 100},
        "port": {"targetPort": format!("{name}-http")},
        "wildcardPolicy": "None",
    });
    Some(annotated(route, TIMEOUT.0, TIMEOUT.1))
}
