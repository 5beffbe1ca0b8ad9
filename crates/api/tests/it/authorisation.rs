//! Every operation passes the table: all operations × kinds of credentials × ways to authenticate.

use assisted_api::auth::local::Signer;
use assisted_core::settings::{AuthType, Settings};
use assisted_service::{Caller, TokenResource};
use assisted_wire::id::InfraEnvId;
use assisted_wire::operation::{self, Location, Operation, Scheme};
use assisted_wire::secret::Secret;
use jiff::{Span, Timestamp};
use p256::pkcs8::{EncodePrivateKey, EncodePublicKey, LineEnding};
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::server::Server;

fn keys(seed: u8) -> (String, Secret) {
    let key = p256::SecretKey::from_slice(&[seed; 32]).unwrap();
    let private = key.to_pkcs8_pem(LineEnding::LF).unwrap();
    (key.public_key().to_public_key_pem(LineEnding::LF).unwrap(), Secret::from(private.as_str()))
}

fn local() -> (Settings, Secret) {
    let (public, private) = keys(7);
    let mut settings = Settings::default();
    settings.auth.auth_type = AuthType::Local;
    settings.auth.ec_public_key_pem = public;
    (settings, private)
}

/// Calls an operation with its ids filled in, and a credential for one scheme.
async fn call(
    server: &Server,
    operation: &Operation,
    id: &str,
    credential: Option<(Scheme, &str)>,
) -> (u16, Value) {
    let mut path = operation.path.to_owned();
    for param in operation.params.iter().filter(|param| param.location == Location::Path) {
        path = path.replace(&format!("{{{}}}", param.name), id);
    }
    let method = Method::from_bytes(operation.method.as_str().as_bytes()).unwrap();
    let mut request = server.client.request(method, format!("{}{path}", server.url));
    if let Some((scheme, token)) = credential {
        let (location, name) = scheme.carrier();
        request = match location {
            Location::Query => request.query(&[(name, token)]),
            _ => request.header(name, token),
        };
    }
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, answer.json().await.unwrap_or_default())
}

#[tokio::test]
async fn nobody_passes_without_a_row_that_admits() {
    let (settings, private) = local();
    let server = Server::start(settings).await;
    let caller = Caller::admin(Uuid::new_v4());
    let params = serde_json::from_value(json!({
        "name": "walk",
        "pull_secret": r#"{"auths":{"cloud.openshift.com":{"auth":"dXNlcjpwYXNz"},"quay.io":{"auth":"dXNlcjpwYXNz"}}}"#,
        "openshift_version": "4.20",
    }));
    let infra_env = server.service.register_infra_env(&caller, params.unwrap()).await.unwrap();
    let id = infra_env.id.to_string();
    let later = Timestamp::now() + Span::new().hours(1);
    let signer = Signer::new(&private).unwrap();
    let good = signer.token(TokenResource::InfraEnv(infra_env.id), later).unwrap();
    let other = signer.token(TokenResource::InfraEnv(InfraEnvId::random()), later).unwrap();
    let expired =
        signer.token(TokenResource::InfraEnv(infra_env.id), Timestamp::now() - Span::new().hours(1)).unwrap();
    let forged =
        Signer::new(&keys(9).1).unwrap().token(TokenResource::InfraEnv(infra_env.id), later).unwrap();

    for operation in operation::all() {
        let name = operation.name;
        assert!(!operation.security.is_empty(), "{name} has no row");
        assert_eq!(
            call(&server, operation, &id, None).await,
            (401, json!({"code": 401, "message": "unauthenticated for invalid credentials"}))
        );
        for scheme in Scheme::ALL {
            let listed = operation.security.iter().any(|security| security.scheme == *scheme);
            for token in [&other, &expired, &forged, &Secret::from("x"), &Secret::from("a.b.c")] {
                let (status, body) = call(&server, operation, &id, Some((*scheme, token.expose()))).await;
                assert_eq!(status, 401, "{name} {scheme:?} {body}");
            }
            let (status, body) = call(&server, operation, &id, Some((*scheme, good.expose()))).await;
            let admitted = listed && matches!(scheme, Scheme::Agent | Scheme::Url);
            assert_eq!(status != 401, admitted, "{name} {scheme:?} {status} {body}");
            // A token in a URL opens its own infra-env and no cluster.
            if admitted && *scheme == Scheme::Url && operation.path.contains("{cluster_id}") {
                assert_eq!((status, &body["reason"]), (404, &json!("Object Not Found")), "{name}");
            }
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn everybody_passes_without_authentication() {
    let server = Server::start(Settings::default()).await;
    for operation in operation::all() {
        let (status, body) = call(&server, operation, "11111111-2222-3333-4444-555555555555", None).await;
        assert!(!matches!(status, 401 | 403), "{} {body}", operation.name);
    }
    server.stop().await;
}

#[tokio::test]
async fn what_is_not_available_does_not_start() {
    let server = Server::start(Settings::default()).await;
    for kind in [AuthType::Rhsso, AuthType::AgentInstallerLocal] {
        let mut settings = Settings::default();
        settings.auth.auth_type = kind;
        let refused = assisted_api::Api::new(server.service.clone(), &settings).err().unwrap();
        assert!(refused.to_string().contains("set AUTH_TYPE to none or local"), "{refused}");
    }
    server.stop().await;
}
