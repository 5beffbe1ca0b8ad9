//! The agent-based installer: three tokens, each for one kind of caller.

use assisted_config::{AuthType, Settings};
use assisted_wire::operation::{self, Scheme};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use p256::pkcs8::{EncodePublicKey, LineEnding};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::authorisation::call;
use crate::server::Server;

fn token(key: &SigningKey, claims: &Value) -> String {
    let part = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
    let text = format!("{}.{}", part(r#"{"alg":"ES256","typ":"JWT"}"#), part(&claims.to_string()));
    let signature: Signature = key.sign(text.as_bytes());
    format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature.to_bytes()))
}

fn key(seed: u8) -> SigningKey {
    SigningKey::from(p256::SecretKey::from_slice(&[seed; 32]).unwrap())
}

async fn server() -> Server {
    let mut settings = Settings::default();
    settings.auth.auth_type = AuthType::AgentInstallerLocal;
    let pem = key(7).verifying_key().to_public_key_pem(LineEnding::LF).unwrap();
    settings.auth.ec_public_key_pem = BASE64_STANDARD.encode(pem);
    Server::start(settings).await
}

#[tokio::test]
async fn a_token_of_the_installer_is_for_one_kind_of_caller() {
    let server = server().await;
    let id = Uuid::new_v4().to_string();
    let of = |scheme: Scheme| token(&key(7), &json!({"auth_scheme": scheme.name()}));
    let forged = token(&key(9), &json!({"auth_scheme": "userAuth"}));
    let expired = token(&key(7), &json!({"auth_scheme": "userAuth", "exp": 1}));
    let unnamed = token(&key(7), &json!({"exp": 4_000_000_000_u64}));
    let mut admitted = [0; 3];
    for operation in operation::all() {
        let name = operation.name;
        assert_eq!(call(&server, operation, &id, None).await.0, 401, "{name}");
        for scheme in Scheme::ALL {
            let listed = operation.security.iter().any(|security| security.scheme == *scheme);
            let known =
                [Scheme::User, Scheme::Agent, Scheme::Watcher].iter().position(|known| known == scheme);
            let (status, body) = call(&server, operation, &id, Some((*scheme, &of(*scheme)))).await;
            assert_eq!(status != 401, listed && known.is_some(), "{name} {scheme:?} {status} {body}");
            let (false, true, Some(index)) = (status == 401, listed, known) else { continue };
            admitted[index] += 1;
            assert_ne!(status, 403, "{name} {scheme:?} {body}");
            for (shown, status, told) in [
                (&forged, 401, "Failed to parse token: signature is invalid"),
                (
                    &expired,
                    401,
                    "The provided authentication token has expired. Please generate a new token and try again.",
                ),
                (&unnamed, 500, "malformed auth_scheme claim"),
                (&of(Scheme::Url), 403, "authClaim urlAuth is unauthorized to access"),
            ] {
                let answer = call(&server, operation, &id, Some((*scheme, shown))).await;
                assert_eq!(answer, (status, json!({"code": status, "message": told})), "{name} {scheme:?}");
            }
        }
    }
    // What existing clients do (running §7.6), and what is added to it here.
    assert!(admitted[0] >= 68 && admitted[1] >= 21 && admitted[2] >= 4, "{admitted:?}");
    server.stop().await;
}

#[tokio::test]
async fn addresses_of_images_need_no_token() {
    let server = server().await;
    let user = token(&key(7), &json!({"auth_scheme": "userAuth"}));
    let body = json!({
        "name": "abi", "pull_secret": crate::life::PULL_SECRET, "openshift_version": "4.20",
    });
    for shown in [user.clone(), format!("Bearer {user}")] {
        let url = format!("{}/v2/infra-envs", server.url);
        let answer = server.client.post(url).header("Authorization", shown).json(&body).send().await.unwrap();
        assert_eq!(answer.status(), 201);
        let made: Value = answer.json().await.unwrap();
        let id = made["id"].as_str().unwrap();
        assert!(made["download_url"].as_str().unwrap().contains(&format!("/byid/{id}/")), "{made}");
    }
    server.stop().await;
}
