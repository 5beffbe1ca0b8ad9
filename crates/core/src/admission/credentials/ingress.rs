//! A kubeconfig that trusts the cluster's ingress too.

use assisted_wire::secret::Secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_yaml_ng::{Mapping, Value};

use crate::admission::field::certificate;

/// Why the certificate can't be put into the kubeconfig. Neither text is quoted: a kubeconfig holds the administrator's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IngressCaError {
    #[error("given ingress-ca is not valid PEM format")]
    NotPem,
    #[error("the kubeconfig can't be read")]
    Kubeconfig,
}

const AUTHORITY: &str = "certificate-authority-data";

/// Puts an authority, PEM, before those that each cluster of a kubeconfig trusts already. Its certificates alone go in, written
/// as every client reads them.
///
/// # Errors
///
/// When one of the two texts is not what it should be.
pub fn with_ingress_ca(kubeconfig: &Secret, ca: &str) -> Result<Secret, IngressCaError> {
    let ca = certificate::written(ca.as_bytes()).ok().filter(|ca| !ca.is_empty());
    let ca = ca.ok_or(IngressCaError::NotPem)?;
    let broken = IngressCaError::Kubeconfig;
    let mut config: Value = serde_yaml_ng::from_str(kubeconfig.expose()).map_err(|_| broken)?;
    let clusters = config.get_mut("clusters").and_then(Value::as_sequence_mut).ok_or(broken)?;
    for cluster in clusters {
        let cluster = cluster.get_mut("cluster").and_then(Value::as_mapping_mut).ok_or(broken)?;
        trust(cluster, &ca).ok_or(broken)?;
    }
    serde_yaml_ng::to_string(&config).map(Secret::from).map_err(|_| broken)
}

fn trust(cluster: &mut Mapping, ca: &str) -> Option<()> {
    let known = match cluster.get(AUTHORITY) {
        Some(known) => String::from_utf8(STANDARD.decode(known.as_str()?).ok()?).ok()?,
        None => String::new(),
    };
    cluster.insert(AUTHORITY.into(), STANDARD.encode(format!("{ca}{known}")).into());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CA: &str = include_str!("../../../tests/data/ca.pem");

    fn kubeconfig(authority: &str) -> Secret {
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    {authority}\n    server: https://api.c.example.com:6443\n  \
             name: c\nusers:\n- name: admin\n  user:\n    client-key-data: c2VjcmV0\n"
        )
        .into()
    }

    #[test]
    fn the_authority_comes_first() {
        for (authority, rest) in [
            (format!("certificate-authority-data: {}", STANDARD.encode("known\n")), "known\n"),
            ("tls-server-name: x".to_owned(), ""),
        ] {
            let merged = with_ingress_ca(&kubeconfig(&authority), CA).unwrap();
            let merged: Value = serde_yaml_ng::from_str(merged.expose()).unwrap();
            let bundle = merged["clusters"][0]["cluster"][AUTHORITY].as_str().unwrap();
            let bundle = String::from_utf8(STANDARD.decode(bundle).unwrap()).unwrap();
            assert_eq!(bundle, format!("{}\n{rest}", CA.trim()));
            assert_eq!(merged["clusters"][0]["cluster"]["server"], "https://api.c.example.com:6443");
            assert_eq!(merged["users"][0]["user"]["client-key-data"], "c2VjcmV0");
        }
    }

    #[test]
    fn every_form_of_it_is_read() {
        let letters: String = CA.lines().filter(|line| !line.starts_with('-')).collect();
        let flat = format!("-----BEGIN CERTIFICATE-----\n{letters}\n-----END CERTIFICATE-----");
        let key = "-----BEGIN PRIVATE KEY-----\nMAMBAf8=\n-----END PRIVATE KEY-----\n";
        let good = kubeconfig("x: y");
        let expected = with_ingress_ca(&good, CA).unwrap();
        for ca in [flat, CA.replace('\n', "\r\n"), format!("# CA\n{CA}# end"), format!("{key}{CA}garbage")] {
            let merged = with_ingress_ca(&good, &ca).unwrap();
            assert_eq!(merged.expose(), expected.expose(), "{ca}");
        }
    }

    #[test]
    fn neither_text_is_trusted() {
        let good = kubeconfig("x: y");
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----";
        for ca in ["", " \n", "no certificate", broken, &CA[..300], &format!("{CA}{broken}"), "\0"] {
            assert_eq!(with_ingress_ca(&good, ca), Err(IngressCaError::NotPem), "{ca:?}");
        }
        for text in [
            "",
            "clusters: 1",
            "clusters: [1]",
            "clusters:\n- name: x",
            ": [",
            "clusters:\n- cluster: {certificate-authority-data: '!'}",
        ] {
            assert_eq!(with_ingress_ca(&text.into(), CA), Err(IngressCaError::Kubeconfig), "{text:?}");
        }
    }
}
