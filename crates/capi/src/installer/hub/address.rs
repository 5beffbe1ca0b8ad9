//! Where the Ignition config of a discovery is (capi-providers §7.2).

use assisted_crd::agent_install::infra_env::InfraEnvStatus;
use url::Url;

/// The service's Service in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Internal {
    /// `http` or `https`.
    pub scheme: String,
    /// Name of the Service.
    pub service: String,
    /// Its namespace; none: that of the InfraEnv.
    pub namespace: Option<String>,
    pub port: u16,
}

impl Internal {
    /// The address by way of the Service.
    pub(super) fn applied(&self, url: &Url, namespace: &str) -> String {
        let namespace = self.namespace.as_deref().unwrap_or(namespace);
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let Self { scheme, service, port, .. } = self;
        format!("{scheme}://{service}.{namespace}.svc.cluster.local:{port}{}{query}", url.path())
    }
}

/// The address of the Ignition config: the one that is shown, or what the address of the events tells.
pub(super) fn ignition(status: &InfraEnvStatus) -> Result<Url, String> {
    let events = status.debug_info.as_ref().map(|debug| debug.events_url.as_str()).unwrap_or_default();
    if events.is_empty() {
        return Err("infraenv not ready: eventsURL not generated yet".to_owned());
    }
    let unreadable = |_| "the address of the events is none".to_owned();
    let mut url = Url::parse(events).map_err(unreadable)?;
    let given =
        |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    let id = given("infra_env_id").ok_or_else(|| "no infra_env_id found in query string".to_owned())?;
    // A service without authentication has no key to give.
    let key = given("api_key");
    url.set_path(&format!("/api/assisted-install/v2/infra-envs/{id}/downloads/files"));
    let mut query = url.query_pairs_mut();
    query.clear();
    if let Some(key) = &key {
        query.append_pair("api_key", key);
    }
    query.append_pair("file_name", "discovery.ign");
    drop(query);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use assisted_crd::agent_install::infra_env::InfraEnvDebugInfo;

    use super::*;

    fn of(events: &str) -> Result<Url, String> {
        let debug = InfraEnvDebugInfo { events_url: events.to_owned(), ..InfraEnvDebugInfo::default() };
        ignition(&InfraEnvStatus { debug_info: Some(debug), ..InfraEnvStatus::default() })
    }

    #[test]
    fn the_address_keeps_scheme_host_and_port_and_its_query_is_in_order() {
        let url =
            of("https://service.example.com:6008/api/assisted-install/v2/events?infra_env_id=1&api_key=k")
                .unwrap();
        assert_eq!(
            url.as_str(),
            "https://service.example.com:6008/api/assisted-install/v2/infra-envs/1/downloads/files?api_key=k&file_name=discovery.ign"
        );
        let internal =
            Internal { scheme: "http".to_owned(), service: "s".to_owned(), namespace: None, port: 8090 };
        assert_eq!(
            internal.applied(&url, "site"),
            "http://s.site.svc.cluster.local:8090/api/assisted-install/v2/infra-envs/1/downloads/files?api_key=k&file_name=discovery.ign"
        );
        let own = Internal { namespace: Some("own".to_owned()), scheme: "https".to_owned(), ..internal };
        assert!(own.applied(&url, "site").starts_with("https://s.own.svc.cluster.local:8090/api/"));
        let open = of("http://h/v2/events?infra_env_id=1").unwrap();
        assert_eq!(open.query(), Some("file_name=discovery.ign"));
    }

    #[test]
    fn what_is_missing_is_told() {
        assert_eq!(of("").unwrap_err(), "infraenv not ready: eventsURL not generated yet");
        assert_eq!(of("http://h/v2/events?api_key=k").unwrap_err(), "no infra_env_id found in query string");
        assert_eq!(of("events").unwrap_err(), "the address of the events is none");
    }
}
