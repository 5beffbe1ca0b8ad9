//! Where clusters report to that are installed by services which are not the production one.

use serde_json::json;

use super::Manifest;

/// The stage of the service, by its own URL, and where its clusters report to.
const STAGES: [(&str, &str); 2] = [
    ("https://api.stage.openshift.com", "https://infogw.api.stage.openshift.com"),
    ("https://api.integration.openshift.com", "https://dummy.invalid"),
];

/// Sends reports elsewhere, if the service with this URL is of a kind whose clusters do so.
pub fn telemetry(service_url: &str) -> Option<Manifest> {
    let (_, server) = STAGES.iter().find(|(url, _)| *url == service_url)?;
    let config = format!("telemeterClient:\n  telemeterServerURL: {server}\n");
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "cluster-monitoring-config", "namespace": "openshift-monitoring"},
        "data": {"config.yaml": config},
    });
    Some(Manifest::new("redirect-telemeter.yaml", &object))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_stage() {
        assert_eq!(telemetry("https://assisted.lab"), None);
        assert_eq!(telemetry("https://api.stage.openshift.com/"), None);
        let manifest = telemetry("https://api.integration.openshift.com").unwrap();
        assert!(manifest.text.contains("telemeterServerURL: https://dummy.invalid"), "{}", manifest.text);
    }
}
