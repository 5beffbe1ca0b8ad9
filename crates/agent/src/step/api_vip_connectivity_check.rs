//! Step `api-vip-connectivity-check`: whether an existing cluster gives its Ignition to a new node, and what stands in
//! it (agent-protocol §2.4.5).

use assisted_base::http;
use assisted_wire::probe_requests::ApiVipConnectivityRequest;
use assisted_wire::probe_responses::ApiVipConnectivityResponse;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::{only_arg, output};
use crate::reply::Outcome;

const MEDIA_TYPE: &str = "application/vnd.coreos.ignition+json; version=3.2.0";
/// A worker's whole configuration is below a megabyte.
const LONGEST: usize = 16 << 20;
/// What an error quotes of a body that is no Ignition, in bytes.
const EXCERPT: usize = 512;
/// Longest error that is reported: a bad status quotes its whole body.
const LONGEST_ERROR: usize = 64 << 10;
/// The files that say something about the cluster; all others are left out.
const KEPT: [&str; 4] = [
    "/etc/kubernetes/manifests/coredns.yaml",
    "/etc/kubernetes/manifests/keepalived.yaml",
    "/etc/kubernetes/kubeconfig",
    "/etc/ignition-machine-config-encapsulated.json",
];
const FAILED: &str = "ignition download error";

pub(super) async fn run(args: &[String]) -> Outcome {
    let request: ApiVipConnectivityRequest = match only_arg("api vip connectivity check", args) {
        Ok(request) => request,
        Err(outcome) if args.len() == 1 => {
            let answer = ApiVipConnectivityResponse {
                url: "<unknown URL due to internal error>".to_owned(),
                download_error: outcome.error,
                ..ApiVipConnectivityResponse::default()
            };
            return Outcome { exit_code: outcome.exit_code, error: FAILED.to_owned(), ..output(&answer) };
        }
        Err(outcome) => return outcome,
    };
    let url = request.url.clone();
    match ignition(&request).await {
        Ok(ignition) => output(&ApiVipConnectivityResponse {
            is_success: true,
            url,
            ignition,
            ..ApiVipConnectivityResponse::default()
        }),
        Err(error) => {
            let download_error = error.chars().take(LONGEST_ERROR).collect();
            let answer =
                ApiVipConnectivityResponse { url, download_error, ..ApiVipConnectivityResponse::default() };
            // What was found out is that it can't be had: that is an answer.
            Outcome { error: FAILED.to_owned(), ..output(&answer) }
        }
    }
}

async fn ignition(request: &ApiVipConnectivityRequest) -> Result<String, String> {
    let body = download(request).await.map_err(|error| format!("ignition file download failed: {error}"))?;
    let config = read(&body).map_err(|error| {
        let excerpt = String::from_utf8_lossy(&body[..body.len().min(EXCERPT)]).into_owned();
        if body.len() > EXCERPT {
            format!("response JSON is not a valid ignition file, first {EXCERPT} bytes are:\n{excerpt}")
        } else {
            format!("response is not a valid ignition file:\n{excerpt}\nparse error is: {error}")
        }
    })?;
    serde_json::to_string(&filtered(config)).map_err(|error| error.to_string())
}

async fn download(request: &ApiVipConnectivityRequest) -> Result<Vec<u8>, String> {
    let given = request.ca_certificate.as_deref().filter(|text| !text.is_empty());
    let authority = given
        .map(|text| STANDARD.decode(text))
        .transpose()
        .map_err(|error| format!("ignition endpoint CA certificate is not valid base64: {error}"))?;
    let headers = headers(request)?;
    let client = http::client(crate::USER_AGENT, authority.as_deref()).map_err(|error| error.to_string())?;
    let url = http::web_url(&request.url).map_err(|error| error.to_string())?;
    let (status, body) =
        http::get(&client, url, headers, LONGEST).await.map_err(|error| error.to_string())?;
    if !(200..300).contains(&status) {
        let text = String::from_utf8_lossy(&body);
        return Err(format!("bad status code: {status}. server response: {text}"));
    }
    if body.is_empty() {
        return Err(format!("server responsed with status code {status} but the response was empty"));
    }
    if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(&body) {
        let excerpt = String::from_utf8_lossy(&body[..body.len().min(EXCERPT)]);
        return Err(if body.len() > EXCERPT {
            format!(
                "expected ignition but got non-valid json, first {EXCERPT} bytes are:\n{excerpt}\nparse error is: {error}"
            )
        } else {
            format!("response is not valid json:\n{excerpt}\nparse error is: {error}")
        });
    }
    Ok(body)
}

fn headers(request: &ApiVipConnectivityRequest) -> Result<HeaderMap, String> {
    let fault = |name: &str| format!("request failed: {name:?} can't stand in a header");
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static(MEDIA_TYPE));
    if let Some(token) = request.ignition_endpoint_token.as_ref().filter(|token| !token.is_empty()) {
        let mut value =
            HeaderValue::from_str(&format!("Bearer {}", token.expose())).map_err(|_| fault("the token"))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    for header in request.request_headers.iter().flatten() {
        let name = HeaderName::from_bytes(header.key.as_bytes()).map_err(|_| fault(&header.key))?;
        let mut value = HeaderValue::from_str(&header.value).map_err(|_| fault(&header.key))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// A configuration of version 3, which is what nodes of today read.
pub(crate) fn read(body: &[u8]) -> Result<Value, String> {
    let config: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let version = config["ignition"]["version"].as_str().unwrap_or_default();
    match version.split_once('.') {
        Some(("3", minor)) if minor.bytes().all(|c| c.is_ascii_digit() || c == b'.') => Ok(config),
        _ => Err(format!("unsupported config version {version:?}")),
    }
}

/// The configuration without its units, and without the files that say nothing about the cluster.
fn filtered(mut config: Value) -> Value {
    if let Some(Value::Array(files)) = config.pointer_mut("/storage/files") {
        files.retain(|file| file["path"].as_str().is_some_and(|path| KEPT.contains(&path)));
    }
    if let Some(Value::Object(systemd)) = config.get_mut("systemd") {
        systemd.remove("units");
    }
    config
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_tells_of_the_cluster_is_kept() {
        let config = json!({
            "ignition": {"version": "3.1.0"},
            "storage": {
                "files": [{"path": "/etc/motd"}, {"path": KEPT[1]}, {"path": KEPT[3]}, {}],
                "luks": [{"name": "root"}]
            },
            "systemd": {"units": [{"name": "kubelet.service"}]}
        });
        let kept = filtered(read(config.to_string().as_bytes()).unwrap());
        assert_eq!(
            kept,
            json!({
                "ignition": {"version": "3.1.0"},
                "storage": {"files": [{"path": KEPT[1]}, {"path": KEPT[3]}], "luks": [{"name": "root"}]},
                "systemd": {}
            })
        );
        for bad in
            ["{}", "[]", "7", r#"{"ignition":{"version":"2.2.0"}}"#, r#"{"ignition":{"version":"3.x"}}"#]
        {
            assert!(read(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
