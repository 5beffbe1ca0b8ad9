//! The machine config that a host will get, found before it first starts: it names the release's own system
//! (installer-and-controller §A12).

use assisted_base::http::{HttpError, client, get, web_url};
use assisted_ignition_spec::Config;
use assisted_ignition_spec::resource::Resource;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use serde::Deserialize;

use super::{ExtractError, file, unpacked};
use crate::disk::OsImage;

/// What the server of machine configs is asked for: a newer version would be put into an older one's words.
const WANTED: &str = "application/vnd.coreos.ignition+json; version=3.4.0";
/// The machine config that stands in the config of a host.
const ENCAPSULATED: &str = "/etc/ignition-machine-config-encapsulated.json";
const LONGEST: usize = 64 << 20;

/// Why the release's system isn't known.
#[derive(Debug, thiserror::Error)]
pub enum MachineConfigError {
    #[error("the host's Ignition config can't be read: {0}")]
    Parse(#[source] serde_json::Error),
    #[error("the host's Ignition config points to no other one")]
    NoSource,
    #[error("the config inside of the host's Ignition config isn't packed, or can't be read")]
    Data,
    #[error("the host's Ignition config has no certificate for {0}")]
    NoCertificate(String),
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("what the server of machine configs gives can't be used: {0}")]
    Answer(#[from] ExtractError),
    #[error("the machine config can't be read: {0}")]
    MachineConfig(#[source] serde_json::Error),
    #[error("the machine config names no system")]
    NoImage,
}

#[derive(Deserialize)]
struct MachineConfig {
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    #[serde(default, rename = "osImageURL")]
    os_image_url: String,
    #[serde(default)]
    kernel_arguments: Option<Vec<String>>,
}

/// What a host will get from the server of machine configs.
#[derive(Debug)]
pub struct Found {
    pub image: OsImage,
    /// The Ignition config.
    pub answer: Vec<u8>,
}

/// Where a host's config points to; `None` where it holds what it needs, or is none.
pub fn source(config: &[u8]) -> Option<String> {
    let config: Config = serde_json::from_slice(config).ok()?;
    config
        .ignition
        .config
        .merge
        .into_iter()
        .find_map(|resource| resource.source.filter(|source| !source.is_empty()))
}

/// The system that the config points to, directly or on the server of machine configs, with all else that the host will get.
///
/// # Errors
/// When the server doesn't answer (yet), or the config or the answer isn't what it should be.
pub async fn find(config: &[u8]) -> Result<Found, MachineConfigError> {
    let config: Config = serde_json::from_slice(config).map_err(MachineConfigError::Parse)?;
    let given = |resource: &Resource| resource.source.as_deref().is_some_and(|source| !source.is_empty());
    let merged = config.ignition.config.merge.iter().find(|resource| given(resource));
    let merged = merged.ok_or(MachineConfigError::NoSource)?;
    let source = merged.source.clone().unwrap_or_default();
    let answer = if source.starts_with("data:") {
        merged.data().as_deref().and_then(unpacked).ok_or(MachineConfigError::Data)?
    } else {
        let authorities = &config.ignition.security.tls.certificate_authorities;
        let authority = authorities.iter().find(|resource| given(resource)).and_then(Resource::data);
        fetch(&source, authority).await?
    };
    let encapsulated = file(&answer, ENCAPSULATED)?;
    let found: MachineConfig =
        serde_json::from_slice(&encapsulated).map_err(MachineConfigError::MachineConfig)?;
    if found.spec.os_image_url.is_empty() {
        return Err(MachineConfigError::NoImage);
    }
    let kernel_arguments = found.spec.kernel_arguments.unwrap_or_default();
    Ok(Found { image: OsImage { url: found.spec.os_image_url, kernel_arguments }, answer })
}

async fn fetch(source: &str, authority: Option<Vec<u8>>) -> Result<Vec<u8>, MachineConfigError> {
    let url = web_url(source)?;
    let authority = match (url.scheme(), authority) {
        ("https", Some(pem)) => Some(pem),
        ("https", None) => return Err(MachineConfigError::NoCertificate(source.to_owned())),
        _ => None,
    };
    let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(WANTED))]);
    Ok(get(&client(crate::USER_AGENT, authority.as_deref())?, url, headers, LONGEST).await?.1)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use base64::prelude::{BASE64_STANDARD, Engine};
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use serde_json::{Value, json};

    use super::*;

    fn pointing_to(source: &str) -> Vec<u8> {
        let config = json!({"ignition": {"version": "3.2.0", "config": {"merge": [{}, {"source": source}]}}});
        config.to_string().into_bytes()
    }

    fn inside(answer: &Value) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(answer.to_string().as_bytes()).unwrap();
        pointing_to(&format!("data:;base64,{}", BASE64_STANDARD.encode(packed.finish().unwrap())))
    }

    fn answer(machine_config: &Value) -> Value {
        let source = format!("data:;base64,{}", BASE64_STANDARD.encode(machine_config.to_string()));
        json!({"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": ENCAPSULATED, "contents": {"source": source}}]}})
    }

    #[tokio::test]
    async fn a_config_may_hold_what_it_points_to() {
        let spec = json!({"spec": {"osImageURL": "quay.io/os@sha256:1", "kernelArguments": ["a=b"]}});
        let found = find(&inside(&answer(&spec))).await.unwrap().image;
        let expected = OsImage { url: "quay.io/os@sha256:1".into(), kernel_arguments: vec!["a=b".into()] };
        assert_eq!(found, expected);
        let odd = [
            (pointing_to("data:,plain"), "isn't packed"),
            (pointing_to(""), "points to no other"),
            (pointing_to("https://127.0.0.1:1/config/master"), "has no certificate"),
            (pointing_to("file:///etc/passwd"), "no address of a web server"),
            (pointing_to("http://127.0.0.1:1/config/master"), "request failed"),
            (inside(&answer(&json!({"spec": {}}))), "names no system"),
            (inside(&answer(&json!([]))), "can't be read"),
            (inside(&json!({})), "has no file"),
            (b"{".to_vec(), "can't be read"),
        ];
        for (config, told) in odd {
            let error = find(&config).await.unwrap_err().to_string();
            assert!(error.contains(told), "{told}: {error}");
        }
    }
}
