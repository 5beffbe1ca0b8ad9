//! What a provider answers.

use std::collections::HashMap;
use std::sync::Mutex;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use http_body_util::{BodyExt, Collected, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use hyper::{Method, Request, Response};
use reqwest::Url;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Question, State, TokenFault, keys, now};

type Answer = Response<Full<Bytes>>;

pub(super) async fn answer(state: &Mutex<State>, request: Request<Incoming>) -> Answer {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
    if is_stalled(state, head.uri.path()) {
        return std::future::pending().await;
    }
    let mut state = state.lock().unwrap();
    let path = head.uri.path().to_owned();
    state.asked.push(path.clone());
    if state.silent {
        return status(500, &json!({"error": "server_error"}));
    }
    let authorization = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    match path.as_str() {
        "/.well-known/openid-configuration" => status(200, &state.configuration()),
        "/jwks" => status(200, &json!({"keys": [state.key.public()]})),
        "/authorize" => state.authorize(&form(head.uri.query().unwrap_or_default().as_bytes())),
        "/device" => state.device(),
        "/token" => state.exchange(&form(&body), authorization),
        _ if authorization != Some("Bearer account-token") => status(401, &json!({"reason": "no token"})),
        "/api/accounts_mgmt/v1/accounts" => {
            state.members(&form(head.uri.query().unwrap_or_default().as_bytes()))
        }
        _ => state.account(&head.method, &path, &serde_json::from_slice(&body).unwrap_or_default()),
    }
}

fn is_stalled(state: &Mutex<State>, path: &str) -> bool {
    state.lock().unwrap().stalled && path.contains("/subscriptions/")
}

impl State {
    fn configuration(&self) -> Value {
        let url = &self.url;
        json!({
            "issuer": url,
            "authorization_endpoint": format!("{url}/authorize"),
            "token_endpoint": format!("{url}/token"),
            "device_authorization_endpoint": format!("{url}/device"),
            "jwks_uri": format!("{url}/jwks"),
            "response_types_supported": ["code"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
        })
    }

    /// Whoever comes here has logged in already, and agrees.
    fn authorize(&mut self, asked: &HashMap<String, String>) -> Answer {
        let of = |name: &str| asked.get(name).cloned();
        let good = of("client_id").as_ref() == Some(&self.client.0)
            && of("response_type").as_deref() == Some("code")
            && of("code_challenge_method").as_deref() == Some("S256")
            && of("scope").is_some_and(|scope| scope.split(' ').any(|word| word == "openid"));
        let (Some(redirect), Some(state), true) = (of("redirect_uri"), of("state"), good) else {
            return status(400, &json!({"error": "invalid_request"}));
        };
        self.made += 1;
        let code = format!("code-{}", self.made);
        let question =
            Question { nonce: of("nonce"), challenge: of("code_challenge"), redirect: redirect.clone() };
        self.codes.insert(code.clone(), question);
        let mut back = Url::parse(&redirect).unwrap();
        back.query_pairs_mut().append_pair("code", &code).append_pair("state", &state);
        Response::builder().status(302).header(LOCATION, back.as_str()).body(Full::default()).unwrap()
    }

    fn device(&mut self) -> Answer {
        self.made += 1;
        let code = format!("device-{}", self.made);
        self.devices.insert(code.clone(), false);
        let told = json!({
            "device_code": code, "user_code": "WDJB-MJHT", "verification_uri": format!("{}/activate", self.url),
            "expires_in": 600, "interval": 1,
        });
        status(200, &told)
    }

    fn exchange(&mut self, asked: &HashMap<String, String>, authorization: Option<&str>) -> Answer {
        let of = |name: &str| asked.get(name).map(String::as_str).unwrap_or_default();
        let (id, secret) = &self.client;
        let basic = format!("Basic {}", BASE64_STANDARD.encode(format!("{id}:{secret}")));
        let known = authorization == Some(basic.as_str())
            || (of("client_id") == id && (secret.is_empty() || of("client_secret") == secret));
        if !known {
            return status(401, &json!({"error": "invalid_client"}));
        }
        let refused = |why: &str| status(400, &json!({"error": why}));
        let question = match of("grant_type") {
            "client_credentials" => {
                return status(200, &json!({"access_token": "account-token", "expires_in": 300}));
            }
            "authorization_code" => {
                let Some(question) = self.codes.remove(of("code")) else { return refused("invalid_grant") };
                let verifier = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(of("code_verifier")));
                if question.challenge.as_ref() != Some(&verifier) || question.redirect != of("redirect_uri") {
                    return refused("invalid_grant");
                }
                question
            }
            "urn:ietf:params:oauth:grant-type:device_code" => match self.devices.get(of("device_code")) {
                None => return refused("expired_token"),
                Some(false) => return refused("authorization_pending"),
                Some(true) => {
                    self.devices.remove(of("device_code"));
                    Question::default()
                }
            },
            _ => return refused("unsupported_grant_type"),
        };
        let token = self.id_token(&question);
        status(200, &json!({"access_token": "x", "token_type": "Bearer", "id_token": token}))
    }

    fn id_token(&self, question: &Question) -> String {
        let mut claims = self.person.clone();
        let client = &self.client.0;
        claims["iss"] = json!(self.url);
        claims["aud"] = json!(client);
        claims["iat"] = json!(now());
        claims["exp"] = json!(now() + 300);
        if let Some(nonce) = &question.nonce {
            claims["nonce"] = json!(nonce);
        }
        match self.fault {
            Some(TokenFault::Issuer) => claims["iss"] = json!("https://other.example.com"),
            Some(TokenFault::Audience) => claims["aud"] = json!("another"),
            Some(TokenFault::Party) => {
                claims["aud"] = json!([client, "another"]);
                claims["azp"] = json!("another");
            }
            Some(TokenFault::Nonce) => claims["nonce"] = json!("another"),
            Some(TokenFault::NoNonce) => drop(claims.as_object_mut().unwrap().remove("nonce")),
            Some(TokenFault::Expired) => claims["exp"] = json!(now() - 3600),
            Some(TokenFault::Endless) => drop(claims.as_object_mut().unwrap().remove("exp")),
            Some(TokenFault::Future) => {
                claims["iat"] = json!(now() + 86_400);
                claims["nbf"] = json!(now() + 86_400);
                claims["exp"] = json!(now() + 90_000);
            }
            Some(TokenFault::Nobody) => drop(claims.as_object_mut().unwrap().remove("sub")),
            Some(TokenFault::Unsigned) => {
                return format!("{}.", keys::unsigned(&json!({"alg": "none", "typ": "JWT"}), &claims));
            }
            Some(TokenFault::Forged) => return self.stranger.token(&claims),
            Some(TokenFault::Confused) => return self.key.confused(&claims),
            None => {}
        }
        self.key.token(&claims)
    }

    /// The account service.
    fn account(&mut self, method: &Method, path: &str, asked: &Value) -> Answer {
        let user = asked["account_username"].as_str().unwrap_or_default();
        match path {
            "/api/accounts_mgmt/v1/token_authorization" => {
                let shown = asked["authorization_token"].as_str().unwrap_or_default();
                match self.accounts.get(shown) {
                    Some(name) => {
                        let email = format!("{name}@example.com");
                        status(200, &json!({"account": {"username": name, "email": email}}))
                    }
                    None => status(404, &json!({"reason": "unknown"})),
                }
            }
            "/api/authorizations/v1/access_review" => {
                let allowed = match asked["resource_type"].as_str() {
                    Some("BareMetalCluster") => !self.barred.contains(user),
                    Some("Subscription") => {
                        let id = asked["subscription_id"].as_str().unwrap_or_default();
                        asked["action"] == "update"
                            && self.editors.contains(&(user.to_owned(), id.to_owned()))
                    }
                    _ => false,
                };
                status(200, &json!({"allowed": allowed}))
            }
            "/api/authorizations/v1/capability_review" => {
                let capability = asked["capability"].as_str().unwrap_or_default().to_owned();
                let has = match (asked["type"].as_str(), asked["organization_id"].as_str()) {
                    (Some("Account"), _) => self.reading.contains(user),
                    (Some("Organization"), Some(id)) => self.granted.contains(&(id.to_owned(), capability)),
                    _ => false,
                };
                status(200, &json!({"result": has.to_string()}))
            }
            "/api/accounts_mgmt/v1/cluster_authorizations" => self.subscribe(user, asked),
            _ => match path.strip_prefix("/api/accounts_mgmt/v1/subscriptions/") {
                Some(id) => self.subscription(method, id, asked),
                None => status(404, &json!({})),
            },
        }
    }

    /// The accounts that a search finds, which is by user name alone.
    fn members(&self, asked: &HashMap<String, String>) -> Answer {
        let search = asked.get("search").map(String::as_str).unwrap_or_default();
        let name = search.strip_prefix("username='").and_then(|rest| rest.strip_suffix('\''));
        let found = name.and_then(|name| self.organisations.get(&name.replace("''", "'")));
        let items: Vec<_> = found.iter().map(|id| json!({"organization": {"id": id}})).collect();
        status(200, &json!({"items": items}))
    }

    fn subscribe(&mut self, user: &str, asked: &Value) -> Answer {
        if let Some(refusal) = self.refusal {
            return status(refusal, &json!({"reason": "refused"}));
        }
        let fixed = json!({
            "product_category": "AssistedInstall", "product_id": "OCP", "managed": false, "resources": [],
            "reserve": true,
        });
        if fixed.as_object().unwrap().iter().any(|(name, value)| asked[name] != *value) {
            return status(400, &json!({"reason": "another product"}));
        }
        self.made += 1;
        let id = format!("2KJxXxXxXxXxXxXxXxXxXxX{:04}", self.made);
        let kept = json!({
            "id": id, "status": "Reserved", "cluster_id": asked["cluster_id"], "display_name": asked["display_name"],
            "creator": user,
        });
        self.subscriptions.insert(id.clone(), kept);
        status(201, &json!({"allowed": true, "subscription": {"id": id}}))
    }

    fn subscription(&mut self, method: &Method, id: &str, asked: &Value) -> Answer {
        if let Some(refusal) = self.refusal {
            return status(refusal, &json!({"reason": "refused"}));
        }
        let Some(kept) = self.subscriptions.get_mut(id) else { return status(404, &json!({})) };
        match *method {
            Method::GET => status(200, kept),
            Method::PATCH => {
                for (name, value) in asked.as_object().unwrap() {
                    kept[name] = value.clone();
                }
                status(200, kept)
            }
            Method::DELETE => {
                self.subscriptions.remove(id);
                Response::builder().status(204).body(Full::default()).unwrap()
            }
            _ => status(405, &json!({})),
        }
    }
}

fn form(text: &[u8]) -> HashMap<String, String> {
    // The names and values of a form are those of a query.
    let text = format!("http://localhost/?{}", String::from_utf8_lossy(text));
    let url = Url::parse(&text).unwrap();
    url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

fn status(status: u16, body: &Value) -> Answer {
    let body = Full::new(Bytes::from(body.to_string()));
    Response::builder().status(status).header(CONTENT_TYPE, "application/json").body(body).unwrap()
}
