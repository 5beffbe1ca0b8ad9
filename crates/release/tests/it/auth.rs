//! Credentials, as registries ask for them.

use std::sync::{Arc, Mutex};

use assisted_release::{Mirrors, PullError, PullSecret, Reference, Registries, RegistryError};
use assisted_testkit::{Access, Auth, DockerRegistry};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use p256::ecdsa::SigningKey;
use p256::ecdsa::signature::Signer;
use p256::pkcs8::DecodePrivateKey;
use rcgen::{CertificateParams, KeyPair};
use tokio::net::TcpListener;

use crate::lab::{Lab, QUICK, X86, plain, pull_secret, transport, write};

async fn version(
    registry: &DockerRegistry,
    image: &Reference,
    secret: PullSecret,
) -> Result<String, PullError> {
    let mirrors = Mirrors::new([plain(&registry.name())]).unwrap();
    let session = Registries::new(&transport(), mirrors, QUICK).unwrap().session(secret);
    let mut image = image.clone();
    image.repository.registry = registry.name();
    session.release(&image, X86).await.map(|release| release.version)
}

fn refused(read: Result<String, PullError>) -> Option<String> {
    match read.unwrap_err().cause {
        RegistryError::Credentials(entry) => entry,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn user_and_password() {
    let lab = Lab::new();
    let image = lab.release().await;
    let registry = lab.again(&Access { auth: Auth::Basic, ..Access::default() });
    let name = registry.name();
    let (whole, part) = (name.as_str(), format!("{name}/ocp"));
    let right = format!("{}:{}", Auth::USER, Auth::PASSWORD);
    for entries in [vec![(whole, right.as_str())], vec![(whole, "a:b"), (&part, &right)]] {
        assert!(version(&registry, &image, pull_secret(&entries)).await.is_ok());
    }
    let wrong = pull_secret(&[(whole, right.as_str()), (&part, "reader:wrong")]);
    let read = version(&registry, &image, wrong).await;
    assert!(!format!("{read:?} {}", read.as_ref().unwrap_err()).contains("wrong\""));
    assert_eq!(refused(read), Some(part));
    assert_eq!(refused(version(&registry, &image, pull_secret(&[("quay.io", &right)])).await), None);
}

/// Whether an image could be pushed is seen by an upload that is begun, and given up.
#[tokio::test]
async fn uploads_are_tried_with_what_opens_the_registry() {
    let lab = Lab::with(&Access { auth: Auth::Basic, ..Access::default() });
    let name = lab.registry.name();
    let right = format!("{}:{}", Auth::USER, Auth::PASSWORD);
    let repository =
        |registry: &str| format!("{registry}/acme/os-master:latest").parse::<Reference>().unwrap().repository;
    let session = |secret: PullSecret| {
        let mirrors = Mirrors::new([plain(&name)]).unwrap();
        Registries::new(&transport(), mirrors, QUICK).unwrap().session(secret)
    };
    let opened = session(pull_secret(&[(name.as_str(), right.as_str())]));
    opened.try_upload(&repository(&name)).await.unwrap();
    // The registry removes what belongs to an upload, and leaves the folder that was its place.
    let uploads = lab.images.path().join("docker/registry/v2/repositories/acme/os-master/_uploads");
    let uploads: Vec<_> = std::fs::read_dir(uploads).unwrap().map(|upload| upload.unwrap().path()).collect();
    assert_eq!(uploads.len(), 1, "{uploads:?}");
    assert!(!uploads[0].join("startedat").exists() && !uploads[0].join("data").exists(), "{uploads:?}");

    for secret in
        [pull_secret(&[(name.as_str(), "reader:wrong")]), pull_secret(&[("quay.io", right.as_str())])]
    {
        let refused = session(secret).try_upload(&repository(&name)).await.unwrap_err();
        assert!(matches!(refused, RegistryError::Credentials(_)), "{refused}");
    }
    let away = session(PullSecret::default()).try_upload(&repository("127.0.0.1:1")).await.unwrap_err();
    assert!(matches!(away, RegistryError::Unreachable(_)), "{away}");
}

/// Issues tokens to whoever has the password.
struct Issuer {
    realm: String,
    certificates: std::path::PathBuf,
    scopes: Arc<Mutex<Vec<String>>>,
    /// How long the next token is valid, in seconds.
    lifetime: Arc<Mutex<i64>>,
}

impl Issuer {
    async fn start(dir: &std::path::Path) -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new(vec!["issuer".to_owned()]).unwrap().self_signed(&key).unwrap();
        let signer = SigningKey::from_pkcs8_pem(&key.serialize_pem()).unwrap();
        let chain = STANDARD.encode(certificate.der());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let realm = format!("http://{}/token", listener.local_addr().unwrap());
        let (scopes, lifetime) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(300)));
        let issuer = Self {
            realm,
            certificates: write(dir, "issuer.crt", &certificate.pem()),
            scopes: Arc::clone(&scopes),
            lifetime: Arc::clone(&lifetime),
        };
        let signer = Arc::new(signer);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (scopes, lifetime, signer, chain) =
                    (Arc::clone(&scopes), Arc::clone(&lifetime), Arc::clone(&signer), chain.clone());
                let service = service_fn(move |request: Request<Incoming>| {
                    let query =
                        url::form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes());
                    let scope = query
                        .into_owned()
                        .find(|(name, _)| name == "scope")
                        .map_or_else(String::new, |(_, scope)| scope);
                    scopes.lock().unwrap().push(scope.clone());
                    let expected = STANDARD.encode(format!("{}:{}", Auth::USER, Auth::PASSWORD));
                    let known = request
                        .headers()
                        .get("authorization")
                        .is_some_and(|given| *given == format!("Basic {expected}"));
                    let answer = if known {
                        let seconds = std::mem::replace(&mut *lifetime.lock().unwrap(), 300);
                        Response::new(Full::<bytes::Bytes>::from(token(&signer, &chain, &scope, seconds)))
                    } else {
                        Response::builder().status(401).body(Full::from("")).unwrap()
                    };
                    async move { Ok::<_, std::convert::Infallible>(answer) }
                });
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service),
                );
            }
        });
        issuer
    }

    fn registry(&self, lab: &Lab) -> DockerRegistry {
        let auth = Auth::Token {
            realm: self.realm.clone(),
            service: "lab".to_owned(),
            issuer: "lab".to_owned(),
            certificates: self.certificates.clone(),
        };
        lab.again(&Access { auth, ..Access::default() })
    }
}

fn token(signer: &SigningKey, chain: &str, scope: &str, seconds: i64) -> String {
    let now = jiff::Timestamp::now().as_second();
    let mut parts = scope.split(':');
    let (kind, name, actions) = (parts.next(), parts.next(), parts.next().unwrap_or_default());
    let header = serde_json::json!({"typ": "JWT", "alg": "ES256", "x5c": [chain]});
    let claims = serde_json::json!({
        "iss": "lab", "aud": "lab", "sub": "reader", "jti": "1", "iat": now - 7200, "nbf": now - 7200, "exp": now + seconds,
        "access": [{"type": kind, "name": name, "actions": actions.split(',').collect::<Vec<_>>()}],
    });
    let text = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
    let signature: p256::ecdsa::Signature = signer.sign(text.as_bytes());
    let token = format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature.to_bytes()));
    serde_json::json!({"token": token, "expires_in": seconds}).to_string()
}

#[tokio::test]
async fn an_issuer_is_not_asked_on_this_machine() {
    let lab = Lab::new();
    let image = lab.release().await;
    let mut issuer = Issuer::start(lab.images.path()).await;
    issuer.realm = issuer.realm.replace("127.0.0.1", "127.0.0.2");
    let registry = issuer.registry(&lab);
    let right = format!("{}:{}", Auth::USER, Auth::PASSWORD);
    let read = version(&registry, &image, pull_secret(&[(&registry.name(), &right)])).await;
    let error = read.unwrap_err().to_string();
    assert!(error.contains("the address 127.0.0.2, which is of this machine"), "{error}");
    assert!(issuer.scopes.lock().unwrap().is_empty());
}

#[tokio::test]
async fn tokens() {
    let lab = Lab::new();
    let image = lab.release().await;
    let issuer = Issuer::start(lab.images.path()).await;
    let registry = issuer.registry(&lab);
    let right = format!("{}:{}", Auth::USER, Auth::PASSWORD);
    let name = registry.name();
    assert!(version(&registry, &image, pull_secret(&[(&name, &right)])).await.is_ok());
    // One token for all requests to the repository.
    assert_eq!(*issuer.scopes.lock().unwrap(), ["repository:ocp/release:pull"]);
    // A token that is no longer valid is refused once, and not asked for a third time.
    *issuer.lifetime.lock().unwrap() = -3600;
    assert_eq!(
        refused(version(&registry, &image, pull_secret(&[(&name, &right)])).await),
        Some(name.clone())
    );
    assert_eq!(issuer.scopes.lock().unwrap().len(), 2);
    assert_eq!(refused(version(&registry, &image, pull_secret(&[(&name, "reader:no")])).await), Some(name));
    assert_eq!(refused(version(&registry, &image, PullSecret::default()).await), None);
}
