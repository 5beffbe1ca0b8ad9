//! The authority behind the server from which a node gets its configuration (kube-api §6.6.9).

use assisted_core::admission::field::certificate;
use assisted_kube::error::optional;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};

/// Where the authority stands, in the order in which it is looked for: namespace, name and key.
const PLACES: [(&str, &str, &str); 4] = [
    ("openshift-machine-config-operator", "machine-config-server-ca", "ca-bundle.crt"),
    ("kube-system", "root-ca", "ca.crt"),
    ("openshift-config", "kube-root-ca", "ca.crt"),
    ("openshift-config", "kube-root-ca.crt", "ca.crt"),
];

/// The certificates, PEM, or what is wrong with them; `None`: the cluster shows none.
///
/// # Errors
/// The API server's.
pub(in crate::controllers) async fn server_authority(
    client: &Client,
) -> Result<Option<Result<String, String>>, kube::Error> {
    for (namespace, name, key) in PLACES {
        let found = optional(Api::<ConfigMap>::namespaced(client.clone(), namespace).get(name).await)?;
        if let Some(found) = found {
            let text = found.data.unwrap_or_default().remove(key).unwrap_or_default();
            return Ok(Some(read(&format!("{namespace}/{name}"), &text)));
        }
    }
    Ok(None)
}

fn read(place: &str, text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err(format!("ConfigMap {place} does not contain CA certificate data"));
    }
    certificate::bundle(text)
        .map(|()| text.to_owned())
        .map_err(|error| format!("ConfigMap {place} contains invalid CA certificate data: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_is_a_certificate() {
        let key = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap();
        let pem = key.cert.pem();
        assert_eq!(read("a/b", &format!("\n{pem}\n")).unwrap(), pem.trim());
        assert_eq!(read("a/b", " \n").unwrap_err(), "ConfigMap a/b does not contain CA certificate data");
        let invalid = read("a/b", "text").unwrap_err();
        assert!(invalid.starts_with("ConfigMap a/b contains invalid CA certificate data: "), "{invalid}");
    }
}
