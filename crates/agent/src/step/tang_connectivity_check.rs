//! Step `tang-connectivity-check`: whether the servers that will unlock the disks answer (agent-protocol §2.4.6).

use assisted_base::http;
use assisted_wire::probe_requests::TangConnectivityRequest;
use assisted_wire::probe_responses::{TangConnectivityResponse, TangServerResponse, TangServerSignature};
use reqwest::header::HeaderMap;
use serde::Deserialize;

use super::{only_arg, output};
use crate::reply::Outcome;

/// An advertisement is a few keys and signatures.
const LONGEST: usize = 1 << 20;
/// More than any cluster names.
const MOST_SERVERS: usize = 32;

#[derive(Debug, Deserialize)]
struct Server {
    #[serde(default)]
    url: String,
    #[serde(default)]
    thumbprint: String,
}

#[derive(Debug, Deserialize)]
struct Advertisement {
    #[serde(default)]
    payload: String,
    #[serde(default)]
    signatures: Vec<Signature>,
}

#[derive(Debug, Deserialize)]
struct Signature {
    #[serde(default)]
    protected: String,
    #[serde(default)]
    signature: String,
}

pub(super) async fn run(args: &[String]) -> Outcome {
    let request: TangConnectivityRequest = match only_arg("tang connectivity check", args) {
        Ok(request) => request,
        Err(outcome) => return outcome,
    };
    let servers: Vec<Server> = match serde_json::from_str(&request.tang_servers) {
        Ok(servers) => servers,
        Err(error) => return failed(&[format!("tang_servers: {error}")]),
    };
    if servers.is_empty() || servers.len() > MOST_SERVERS {
        return failed(&[format!("{} tang servers; 1 to {MOST_SERVERS} can be asked", servers.len())]);
    }
    let client = match http::client(crate::USER_AGENT, None) {
        Ok(client) => client,
        Err(error) => return failed(&[error.to_string()]),
    };
    let answers = futures::future::join_all(servers.iter().map(|server| ask(&client, server))).await;
    let (answers, errors): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    let errors: Vec<_> = errors.into_iter().filter_map(Result::err).collect();
    if !errors.is_empty() {
        return failed(&errors);
    }
    let answers = answers.into_iter().filter_map(Result::ok).collect();
    output(&TangConnectivityResponse { is_success: true, tang_server_response: Some(answers) })
}

fn failed(errors: &[String]) -> Outcome {
    let answer = output(&TangConnectivityResponse::default());
    Outcome { output: answer.output, ..Outcome::failed(errors.join("\n")) }
}

async fn ask(client: &reqwest::Client, server: &Server) -> Result<TangServerResponse, String> {
    let short: String = server.url.chars().take(255).collect();
    let fault = |reason: &str| format!("tang server {short:?}: {reason}");
    if server.thumbprint.is_empty() {
        return Err(fault("no thumbprint"));
    }
    // A thumbprint is base64 for addresses: nothing else may get into the path.
    if !server.thumbprint.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_')) {
        return Err(fault("the thumbprint holds what no thumbprint holds"));
    }
    let text = format!("{}/adv/{}", server.url.trim_end_matches('/'), server.thumbprint);
    let url = http::web_url(&text).map_err(|error| fault(&error.to_string()))?;
    let (status, body) =
        http::get(client, url, HeaderMap::new(), LONGEST).await.map_err(|error| fault(&error.to_string()))?;
    if status != 200 {
        return Err(fault(&format!("status {status}")));
    }
    if body.is_empty() {
        return Err(fault("the answer is empty"));
    }
    let said: Advertisement =
        serde_json::from_slice(&body).map_err(|error| fault(&format!("no advertisement: {error}")))?;
    let signatures = said.signatures.into_iter().map(|signature| TangServerSignature {
        protected: signature.protected,
        signature: signature.signature,
    });
    Ok(TangServerResponse { tang_url: text, payload: said.payload, signatures: Some(signatures.collect()) })
}
