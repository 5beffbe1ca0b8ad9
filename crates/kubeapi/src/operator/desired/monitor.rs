//! ServiceMonitor: where the cluster's monitoring reads the service's metrics.

use serde_json::{Value, json};

use super::{Input, labelled, object};
use crate::operator::SERVICE;

pub(super) fn service_monitor(input: &Input<'_>) -> Value {
    let namespace = &input.environment.namespace;
    let mut endpoint = json!({"port": SERVICE, "scheme": "http"});
    if input.facts.is_openshift {
        endpoint["scheme"] = "https".into();
        endpoint["tlsConfig"] = json!({
            "caFile": "/etc/prometheus/configmaps/serving-certs-ca-bundle/service-ca.crt",
            "serverName": format!("{SERVICE}.{namespace}.svc"),
        });
    }
    let mut monitor =
        labelled(object(input, "monitoring.coreos.com/v1", "ServiceMonitor", SERVICE), "app", SERVICE);
    monitor["spec"] = json!({
        "endpoints": [endpoint],
        "namespaceSelector": {"matchNames": [namespace]},
        "selector": {"matchLabels": {"app": SERVICE}},
    });
    monitor
}
