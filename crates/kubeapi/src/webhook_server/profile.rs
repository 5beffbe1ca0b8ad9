//! Which TLS a cluster speaks: the profile of OpenShift's APIServer (capi-providers §2).

use std::sync::Arc;

use assisted_kube::error::optional;
use assisted_kube::watch::events;
use futures::StreamExt;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use rustls::ServerConfig;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::tls::{Certified, Protocols, TlsError, server_config};

/// What clients may speak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsProfile {
    /// `VersionTLS12` or `VersionTLS13`.
    pub min_version: String,
    /// By their IANA names; empty: all that are safe.
    pub cipher_suites: Vec<String>,
}

impl Default for TlsProfile {
    fn default() -> Self {
        Self { min_version: "VersionTLS12".to_owned(), cipher_suites: Vec::new() }
    }
}

/// Ciphers of TLS 1.2 that are spoken here: the name of OpenSSL, and that of IANA.
const CIPHERS: &[(&str, &str)] = &[
    ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
    ("ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
    ("ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
    ("ECDHE-RSA-AES256-GCM-SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"),
    ("ECDHE-ECDSA-CHACHA20-POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"),
    ("ECDHE-RSA-CHACHA20-POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
];

/// Those of TLS 1.3, which have one name and are always spoken.
const CIPHERS_13: [&str; 3] =
    ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];

/// The profile of the cluster's API, where all components are to adhere to it; else the intermediate one.
///
/// # Errors
/// The API server's; a cluster without such an object has none.
pub async fn read(client: &Client) -> Result<TlsProfile, kube::Error> {
    let found = optional(api(client).get(NAME).await)?;
    Ok(found.map(|server| profile(&server.data["spec"])).unwrap_or_default())
}

/// Name of the only object.
pub(crate) const NAME: &str = "cluster";

/// What is watched of all such objects: the only one.
pub(crate) fn only() -> watcher::Config {
    watcher::Config::default().fields(&format!("metadata.name={NAME}"))
}

/// The objects that tell it.
pub(crate) fn api(client: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("config.openshift.io", "v1", "APIServer");
    Api::all_with(client.clone(), &ApiResource::from_gvk_with_plural(&kind, "apiservers"))
}

fn profile(spec: &Value) -> TlsProfile {
    let profile = &spec["tlsSecurityProfile"];
    // The intermediate one, whatever the cluster itself speaks.
    if !adheres(spec) {
        return TlsProfile::default();
    }
    match profile["type"].as_str().unwrap_or_default() {
        "Modern" => TlsProfile { min_version: "VersionTLS13".to_owned(), cipher_suites: Vec::new() },
        "Custom" => {
            let least = profile["custom"]["minTLSVersion"].as_str();
            let least = least.filter(|version| *version == "VersionTLS13");
            let wanted = wanted(spec);
            let known = CIPHERS.iter().filter(|(name, _)| wanted.contains(name));
            TlsProfile {
                min_version: least.unwrap_or("VersionTLS12").to_owned(),
                cipher_suites: known.map(|(_, name)| (*name).to_owned()).collect(),
            }
        }
        // What is older than TLS 1.2 is not spoken here.
        _ => TlsProfile::default(),
    }
}

/// Whether components beside the oldest are to speak what the cluster's API does.
fn adheres(spec: &Value) -> bool {
    let adherence = spec["tlsAdherence"].as_str().unwrap_or_default();
    !matches!(adherence, "" | "LegacyAdheringComponentsOnly")
}

/// The ciphers of a profile of one's own.
fn wanted(spec: &Value) -> Vec<&str> {
    let list = spec["tlsSecurityProfile"]["custom"]["ciphers"].as_array();
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// What a listener speaks by a profile.
///
/// # Errors
/// None of the ciphers that it lists is known.
fn protocols(spec: &Value) -> Result<Protocols, TlsError> {
    let profile = profile(spec);
    let mut protocols =
        Protocols { min_version: profile.min_version, cipher_suites: profile.cipher_suites.join(",") };
    let wanted = wanted(spec);
    let is_custom = adheres(spec) && spec["tlsSecurityProfile"]["type"] == "Custom" && !wanted.is_empty();
    if is_custom && protocols.cipher_suites.is_empty() {
        if !wanted.iter().any(|cipher| CIPHERS_13.contains(cipher)) {
            return Err(TlsError::Suites(wanted.join(",")));
        }
        "VersionTLS13".clone_into(&mut protocols.min_version);
    }
    Ok(protocols)
}

/// Why nothing is known of what is to be spoken.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("which TLS the cluster speaks can't be read (apiservers.config.openshift.io cluster)")]
    Read(#[from] kube::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// What is spoken, as the cluster says it at any time.
pub struct Followed {
    /// The settings of listeners.
    pub tls: watch::Receiver<Arc<ServerConfig>>,
    /// Ends when it is stopped, or at once where the cluster says nothing.
    pub following: tokio::task::JoinHandle<()>,
}

/// Reads the profile, and follows it until it is stopped: connections to come speak a changed one. One that leaves nothing to speak
/// changes nothing.
///
/// # Errors
/// It can't be read, or leaves nothing to speak.
pub async fn follow(
    client: &Client,
    certified: Arc<Certified>,
    stop: CancellationToken,
) -> Result<Followed, ProfileError> {
    let found = optional(api(client).get(NAME).await)?;
    let spec = found.as_ref().map(|server| server.data["spec"].clone()).unwrap_or_default();
    let mut spoken = protocols(&spec)?;
    let (send, tls) = watch::channel(server_config(Arc::clone(&certified), &spoken)?);
    let api = api(client);
    let following = tokio::spawn(async move {
        // Whoever has no such object is no OpenShift, and never becomes one.
        if found.is_none() {
            return;
        }
        let mut events = events(api, only());
        loop {
            let event = tokio::select! {
                () = stop.cancelled() => return,
                event = events.next() => event,
            };
            let Some(event) = event else { return };
            let (Event::InitApply(server) | Event::Apply(server)) = event else { continue };
            let changed = protocols(&server.data["spec"]).and_then(|now| {
                let is_other = now != spoken;
                Ok((is_other.then(|| server_config(Arc::clone(&certified), &now)).transpose()?, now))
            });
            match changed {
                Ok((None, _)) => {}
                Ok((Some(config), now)) => {
                    tracing::info!(min_version = now.min_version, "TLS is spoken as the cluster says now");
                    spoken = now;
                    send.send_replace(config);
                }
                Err(error) => tracing::warn!(%error, "the cluster's TLS profile is left aside"),
            }
        }
    });
    Ok(Followed { tls, following })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn profiles_hold_where_components_adhere() {
        let custom = json!({"type": "Custom", "custom": {"minTLSVersion": "VersionTLS13",
            "ciphers": ["ECDHE-RSA-AES128-GCM-SHA256", "DES-CBC3-SHA"]}});
        let of = |adherence: &str, profile: &Value| {
            let profile = super::profile(&json!({"tlsAdherence": adherence, "tlsSecurityProfile": profile}));
            (profile.min_version, profile.cipher_suites)
        };
        let all = "StrictAllComponents";
        let twelve = ("VersionTLS12".to_owned(), Vec::new());
        assert_eq!(of("", &json!({"type": "Modern"})), twelve);
        assert_eq!(of("LegacyAdheringComponentsOnly", &custom), twelve);
        assert_eq!(of(all, &json!({"type": "Old"})), twelve);
        assert_eq!(of(all, &json!(null)), twelve);
        assert_eq!(of(all, &json!({"type": "Modern"})).0, "VersionTLS13");
        assert_eq!(of("SomethingNew", &json!({"type": "Modern"})).0, "VersionTLS13");
        let suites = vec!["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256".to_owned()];
        assert_eq!(of(all, &custom), ("VersionTLS13".to_owned(), suites));
    }

    #[test]
    fn a_profile_has_to_leave_something_to_speak() {
        let of = |adherence: &str, ciphers: &[&str]| {
            let custom = json!({"minTLSVersion": "VersionTLS12", "ciphers": ciphers});
            let profile = json!({"type": "Custom", "custom": custom});
            protocols(&json!({"tlsAdherence": adherence, "tlsSecurityProfile": profile}))
        };
        let all = "StrictAllComponents";
        let error = of(all, &["DES-CBC3-SHA"]).unwrap_err().to_string();
        assert!(error.contains("DES-CBC3-SHA"), "{error}");
        assert_eq!(of("", &["DES-CBC3-SHA"]).unwrap().cipher_suites, "");
        assert_eq!(of(all, &["TLS_AES_128_GCM_SHA256"]).unwrap().min_version, "VersionTLS13");
        let both = of(all, &["DES-CBC3-SHA", "ECDHE-RSA-AES128-GCM-SHA256"]).unwrap();
        assert_eq!(
            (both.min_version.as_str(), both.cipher_suites.as_str()),
            ("VersionTLS12", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")
        );
    }
}
