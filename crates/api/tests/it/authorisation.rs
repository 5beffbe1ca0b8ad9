//! Every operation passes the table: all operations × kinds of credentials × ways to authenticate.

use assisted_auth::Signer;
use assisted_config::{AuthType, Settings};
use assisted_service::{Caller, Grant, TokenResource};
use assisted_store::{Batch, Deleted, Store};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::live::EVENT_STREAM;
use assisted_wire::operation::{self, Location, Operation, Scheme};
use assisted_wire::secret::Secret;
use jiff::{Span, Timestamp};
use p256::pkcs8::{EncodePrivateKey, EncodePublicKey, LineEnding};
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::life::PULL_SECRET;
use crate::server::Server;

fn keys(seed: u8) -> (String, Secret) {
    let key = p256::SecretKey::from_slice(&[seed; 32]).unwrap();
    let private = key.to_pkcs8_pem(LineEnding::LF).unwrap();
    (key.public_key().to_public_key_pem(LineEnding::LF).unwrap(), Secret::from(private.as_str()))
}

pub(crate) fn local() -> (Settings, Secret) {
    let (public, private) = keys(7);
    let mut settings = Settings::default();
    settings.auth.auth_type = AuthType::Local;
    settings.auth.ec_public_key_pem = public;
    (settings, private)
}

/// Calls an operation with its ids filled in, and a credential for one scheme.
pub(crate) async fn call(
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
    // What has no end is not waited for.
    if answer.headers().get("content-type").is_some_and(|kind| kind == EVENT_STREAM) {
        return (status, Value::Null);
    }
    (status, answer.json().await.unwrap_or_default())
}

#[tokio::test]
async fn nobody_passes_without_a_row_that_admits() {
    let (settings, private) = local();
    let server = Server::start(settings).await;
    let caller = Caller::admin(Uuid::new_v4());
    let params = serde_json::from_value(json!({
        "name": "walk",
        "pull_secret": PULL_SECRET,
        "openshift_version": "4.20",
    }));
    let infra_env = server.service.infra_envs().register(&caller, params.unwrap()).await.unwrap();
    let id = infra_env.id.to_string();
    let later = later();
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

/// A server with local authentication that has one cluster and one infra-env, and the signer of its tokens.
async fn with_resources(enforce: bool) -> (Server, Signer, ClusterId, InfraEnvId) {
    let (mut settings, private) = local();
    settings.auth.local_auth_enforce_resource_scope = enforce;
    let server = Server::start(settings).await;
    let caller = Caller::admin(Uuid::new_v4());
    let params = json!({"name": "walk", "pull_secret": PULL_SECRET, "openshift_version": "4.20"});
    let cluster = serde_json::from_value(params.clone()).unwrap();
    let cluster = Box::pin(server.service.clusters().register(&caller, cluster)).await.unwrap().id;
    let mut bound = params;
    bound["cluster_id"] = json!(cluster);
    let infra_env = serde_json::from_value(bound).unwrap();
    let infra_env = Box::pin(server.service.infra_envs().register(&caller, infra_env)).await.unwrap().id;
    (server, Signer::new(&private).unwrap(), cluster, infra_env)
}

fn later() -> Timestamp {
    Timestamp::now() + Span::new().hours(1)
}

/// Whether checks of tokens in URLs with such a result are on the page of metrics, of tokens for both kinds of resources.
fn scope_checks(page: &str, scope: &str, result: &str) -> bool {
    ["cluster_id", "infra_env_id"].iter().all(|kind| {
        let labels = format!(r#"{{resource_type="{kind}",result="{result}",scope="{scope}"}} "#);
        page.contains(&format!("service_assisted_installer_urlauth_scope_checks_total{labels}"))
    })
}

#[tokio::test]
async fn a_token_in_a_url_opens_its_own_resource_only() {
    for enforce in [true, false] {
        let (server, signer, cluster, infra_env) = with_resources(enforce).await;
        let of_cluster = signer.token(TokenResource::Cluster(cluster), later()).unwrap();
        let of_infra_env = signer.token(TokenResource::InfraEnv(infra_env), later()).unwrap();
        let mut walked = 0;
        for operation in operation::all() {
            if !operation.security.iter().any(|security| security.scheme == Scheme::Url) {
                continue;
            }
            walked += 1;
            for (token, own, foreign) in [
                (&of_cluster, "{cluster_id}", "{infra_env_id}"),
                (&of_infra_env, "{infra_env_id}", "{cluster_id}"),
            ] {
                let ids = [cluster.to_string(), infra_env.to_string()];
                let own_id = if own == "{cluster_id}" { &ids[0] } else { &ids[1] };
                let strange = Uuid::new_v4().to_string();
                for (id, mut allowed) in [(own_id, true), (&strange, false)] {
                    allowed &= !operation.path.contains(foreign);
                    let (status, body) =
                        call(&server, operation, id, Some((Scheme::Url, token.expose()))).await;
                    let name = operation.name;
                    assert!(!matches!(status, 401 | 403), "{name} {body}");
                    let refused = status == 404 && body["reason"] == "Object Not Found";
                    // These carry their ids in the query, where they are asked for without one.
                    let asks = matches!(operation.name, "v2ListEvents" | "v2Watch");
                    let expected = enforce && (!allowed && operation.path.contains('{') || asks);
                    assert_eq!(refused, expected, "{name} {own} {body}");
                }
            }
        }
        assert!(walked > 4);
        if enforce {
            let page = server.metrics().await;
            assert!(
                scope_checks(&page, "path", "allowed") && scope_checks(&page, "path", "denied"),
                "{page}"
            );
        }
        server.stop().await;
    }
}

/// Every operation that agents may ask for, with the token of one infra-env: of that infra-env, of the cluster that its hosts
/// are bound to, of others.
#[tokio::test]
async fn an_agents_token_opens_its_infra_env_and_the_clusters_of_its_hosts() {
    for unscoped in [false, true] {
        let (mut settings, private) = local();
        settings.auth.agent_tokens_unscoped = unscoped;
        let server = Server::start(settings).await;
        let service = &server.service;
        let caller = Caller::admin(Uuid::new_v4());
        let params = |name: &str, cluster: Option<ClusterId>| {
            let mut params = json!({"name": name, "pull_secret": PULL_SECRET, "openshift_version": "4.20"});
            if let Some(id) = cluster {
                params["cluster_id"] = json!(id);
            }
            params
        };
        let mut clusters = Vec::new();
        for name in ["bound", "of-a-host", "foreign"] {
            let made = serde_json::from_value(params(name, None)).unwrap();
            clusters.push(service.clusters().register(&caller, made).await.unwrap().id);
        }
        let infra_env = async |name: &str, cluster| {
            let made = serde_json::from_value(params(name, cluster)).unwrap();
            service.infra_envs().register(&caller, made).await.unwrap().id
        };
        let bound = infra_env("bound", Some(clusters[0])).await;
        let pool = infra_env("pool", None).await;
        let host = Uuid::new_v4();
        let new = serde_json::from_value(json!({"host_id": host})).unwrap();
        Box::pin(service.hosts().register(&caller, pool, new)).await.unwrap();
        let key = assisted_core::model::host::HostKey { infra_env_id: pool, host_id: HostId(host) };
        // As it is once it was bound, which takes an inventory.
        let store = Store::open(&server.database).await.unwrap();
        loop {
            let mut row = store.host(key, Deleted::Hidden).await.unwrap().unwrap();
            row.record.host.cluster_id = Some(clusters[1]);
            row.record.host.fencing_credentials = r#"{"password":"of-the-board"}"#.to_owned();
            let mut batch = Batch::new();
            batch.update_host(&row.record, row.version);
            // Until nobody else changes it meanwhile.
            if store.write(batch).await.is_ok() {
                break;
            }
        }

        let signer = Signer::new(&private).unwrap();
        let mut walked = 0;
        for operation in operation::all() {
            let agents = operation.security.iter().any(|security| security.scheme == Scheme::Agent);
            if !agents || !operation.path.contains('{') {
                continue;
            }
            walked += 1;
            for (own, token) in
                [(bound, TokenResource::InfraEnv(bound)), (pool, TokenResource::InfraEnv(pool))]
            {
                let token = signer.token(token, later()).unwrap();
                let ids: Vec<(Uuid, bool)> = if operation.path.contains("{cluster_id}") {
                    let reached = if own == bound { 0 } else { 1 };
                    clusters.iter().enumerate().map(|(n, id)| (id.0, n == reached)).collect()
                } else {
                    vec![(bound.0, own == bound), (pool.0, own == pool)]
                };
                for (id, allowed) in ids {
                    let token = Some((Scheme::Agent, token.expose()));
                    let (status, body) = call(&server, operation, &id.to_string(), token).await;
                    let refused = status == 404 && body["reason"] == "Object Not Found";
                    assert_eq!(refused, !allowed && !unscoped, "{} {own} {id} {body}", operation.name);
                }
            }
        }
        assert!(walked > 15, "{walked}");

        // Agents have no use for the passwords of boards.
        let token = signer.token(TokenResource::InfraEnv(pool), later()).unwrap();
        for path in [format!("infra-envs/{pool}/hosts"), format!("clusters/{}/hosts", clusters[1])] {
            let request = server.client.get(format!("{}/v2/{path}", server.url));
            let text =
                request.header("X-Secret-Key", token.expose()).send().await.unwrap().text().await.unwrap();
            assert!(text.contains(&host.to_string()) && !text.contains("of-the-board"), "{text}");
        }
        // Nor has one that registers again.
        let request = server.client.post(format!("{}/v2/infra-envs/{pool}/hosts", server.url));
        let request = request.header("X-Secret-Key", token.expose()).json(&json!({"host_id": host}));
        let registered = request.send().await.unwrap();
        assert_eq!(registered.status(), 201);
        let text = registered.text().await.unwrap();
        assert!(text.contains(&host.to_string()) && !text.contains("of-the-board"), "{text}");
        let shown = serde_json::to_string(&service.hosts().list(&caller, pool).await.unwrap()).unwrap();
        assert!(shown.contains("of-the-board"), "{shown}");

        // What is told in a body is held to the same.
        let of_pool = signer.token(TokenResource::InfraEnv(pool), later()).unwrap();
        let event = |more: Value| {
            let mut event = json!({
                "name": "x", "severity": "info", "message": "x", "event_time": "2020-01-01T00:00:00.000Z",
            });
            event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            event
        };
        for (told, allowed) in [
            (json!({"infra_env_id": pool, "host_id": host}), true),
            (json!({"cluster_id": clusters[1]}), true),
            (json!({"cluster_id": clusters[0]}), false),
            (json!({"infra_env_id": bound}), false),
            (json!({"host_id": Uuid::new_v4()}), false),
        ] {
            let url = format!("{}/v2/events", server.url);
            let request =
                server.client.post(url).header("X-Secret-Key", of_pool.expose()).json(&event(told.clone()));
            let status = request.send().await.unwrap().status();
            assert_eq!(status.is_success(), allowed || unscoped, "{told} {status}");
        }
        server.stop().await;
    }
}

/// Attack: an image that was handed out is used after its tokens were revoked.
#[tokio::test]
async fn tokens_are_revoked_with_the_signing_key() {
    let (server, signer, _, infra_env) = with_resources(true).await;
    let resource = TokenResource::InfraEnv(infra_env);
    let old = signer.token(resource, later()).unwrap();
    let get = async |token: &Secret, scheme: Scheme| {
        let operation = operation::all().find(|operation| operation.name == "GetInfraEnv").unwrap();
        call(&server, operation, &infra_env.to_string(), Some((scheme, token.expose()))).await
    };
    for scheme in [Scheme::Agent, Scheme::Url] {
        assert_eq!(get(&old, scheme).await.0, 200);
    }
    let caller = Caller::admin(Uuid::new_v4());
    server.service.infra_envs().regenerate_signing_key(&caller, infra_env).await.unwrap();
    for scheme in [Scheme::Agent, Scheme::Url] {
        let (status, body) = get(&old, scheme).await;
        assert_eq!((status, &body["message"]), (401, &json!("Failed to parse token: token is revoked")));
    }
    let new = signer.token(Grant { resource, generation: 1 }, later()).unwrap();
    assert_eq!(get(&new, Scheme::Agent).await.0, 200);
    server.service.infra_envs().deregister(&caller, infra_env).await.unwrap();
    assert_eq!(get(&new, Scheme::Agent).await.0, 401);
    server.stop().await;
}

#[tokio::test]
async fn events_and_changes_are_of_the_tokens_resource() {
    let (server, signer, cluster, infra_env) = with_resources(true).await;
    let of_cluster = signer.token(TokenResource::Cluster(cluster), later()).unwrap();
    let of_infra_env = signer.token(TokenResource::InfraEnv(infra_env), later()).unwrap();
    let other = Uuid::new_v4();
    for (token, query, expected) in [
        (&of_cluster, format!("cluster_id={cluster}"), 200),
        (&of_cluster, format!("cluster_id={other}"), 404),
        (&of_cluster, format!("infra_env_id={infra_env}"), 404),
        (&of_cluster, String::new(), 404),
        (&of_infra_env, format!("infra_env_id={infra_env}"), 200),
        (&of_infra_env, format!("infra_env_id={other}"), 404),
        (&of_infra_env, format!("infra_env_id={infra_env}&host_id={other}"), 404),
        (&of_infra_env, format!("cluster_id={cluster}&infra_env_id={infra_env}"), 404),
        (&of_infra_env, format!("host_ids={other}"), 404),
        (&of_infra_env, String::new(), 404),
    ] {
        let path = format!("/v2/events?{query}&api_key={}", token.expose());
        let (status, body) = server.call(Method::GET, &path, None).await;
        assert_eq!(status, expected, "{query} {body}");
        assert!(status == 200 || body["reason"] == "Object Not Found", "{query} {body}");
    }
    let page = server.metrics().await;
    assert!(scope_checks(&page, "query", "allowed") && scope_checks(&page, "query", "denied"), "{page}");
    for (token, query, expected) in [
        (&of_cluster, format!("cluster_id={cluster}"), 200),
        (&of_cluster, format!("cluster_id={other}"), 404),
        (&of_cluster, String::new(), 404),
        (&of_infra_env, format!("cluster_id={cluster}"), 404),
        (&of_infra_env, String::new(), 404),
    ] {
        let url = format!("{}/v2/watch?{query}&api_key={}", server.url, token.expose());
        assert_eq!(server.client.get(url).send().await.unwrap().status(), expected, "{query}");
    }
    server.stop().await;
}

#[tokio::test]
async fn what_each_refusal_says() {
    let (server, signer, cluster, infra_env) = with_resources(true).await;
    let good = signer.token(TokenResource::InfraEnv(infra_env), later()).unwrap();
    let expired = signer.token(TokenResource::InfraEnv(infra_env), Timestamp::now()).unwrap();
    let nobodys = [ClusterId::random().0, InfraEnvId::random().0];
    let of_no_cluster = signer.token(TokenResource::Cluster(ClusterId(nobodys[0])), later()).unwrap();
    let of_no_infra_env = signer.token(TokenResource::InfraEnv(InfraEnvId(nobodys[1])), later()).unwrap();
    let forged = Signer::new(&keys(9).1).unwrap().token(TokenResource::Cluster(cluster), later()).unwrap();
    let long = Secret::from("x".repeat(10_000).as_str());
    let get = async |headers: &[(&str, &str)]| {
        let mut request = server.client.get(format!("{}/v2/clusters/{cluster}", server.url));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let body: Value = answer.json().await.unwrap();
        (status, body["message"].as_str().unwrap_or_default().to_owned())
    };
    for (token, text) in [
        (&expired, "Failed to parse token: token is expired".to_owned()),
        (&forged, "Failed to parse token: signature is invalid".to_owned()),
        (&Secret::from("a.b"), "Failed to parse token: token is malformed".to_owned()),
        (&long, "Failed to parse token: token is malformed".to_owned()),
        (&of_no_cluster, format!("Cluster {} does not exist", nobodys[0])),
        (&of_no_infra_env, format!("infraEnv {} does not exist", nobodys[1])),
        (&Secret::from(""), "unauthenticated for invalid credentials".to_owned()),
    ] {
        assert_eq!(get(&[("X-Secret-Key", token.expose())]).await, (401, text));
    }
    let user = "User Authentication not allowed for local auth";
    let watcher = "Watcher Authentication not allowed for local auth";
    let bearer = format!("Bearer {}", good.expose());
    assert_eq!(get(&[("Authorization", &bearer)]).await, (401, user.to_owned()));
    assert_eq!(get(&[("Watcher-Authorization", &bearer)]).await, (401, watcher.to_owned()));
    // Of several credentials one that is good is enough; of several bad ones the last is told.
    assert_eq!(get(&[("Authorization", &bearer), ("X-Secret-Key", good.expose())]).await.0, 200);
    assert_eq!(
        get(&[("Watcher-Authorization", "x"), ("X-Secret-Key", "x")]).await,
        (401, watcher.to_owned())
    );
    // The documents and the signs of life are for everybody.
    for path in ["/api/assisted-install/openapi", "/api/assisted-install/v2/openapi", "/health", "/ready"] {
        let answer = server.client.get(format!("http://{}{path}", server.address)).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
    }
    // Nobody learns what is wrong with a body before saying who it is.
    let url = format!("{}/v2/clusters", server.url);
    assert_eq!(server.client.post(url).body("{").send().await.unwrap().status(), 401);
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
async fn what_lacks_its_keys_does_not_start() {
    let server = Server::start(Settings::default()).await;
    for (kind, missing) in [
        (AuthType::Rhsso, "OCM_SERVICE_CLIENT_ID"),
        (AuthType::AgentInstallerLocal, "EC_PUBLIC_KEY_PEM is not the base64"),
        (AuthType::Users, "EC_PUBLIC_KEY_PEM"),
        (AuthType::Local, "EC_PUBLIC_KEY_PEM"),
    ] {
        let mut settings = Settings::default();
        settings.auth.auth_type = kind;
        let refused = assisted_api::Api::new(server.service.clone(), &settings).err().unwrap();
        assert!(refused.to_string().contains(missing), "{refused}");
    }
    server.stop().await;
}
