//! Accounts of an external service: its users' tokens, pull secrets of agents, signatures in the addresses of images.

use assisted_config::{AgentDelivery, AuthType, Settings};
use assisted_testkit::IdentityProvider;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::metrics::counted;
use crate::server::Server;

/// Pull secret of a user, and what an agent shows of it.
fn pull_secret(user: &str) -> (String, String) {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    let auth = BASE64_STANDARD.encode(format!("{user}:password"));
    let entry = json!({"auth": auth});
    (json!({"auths": {"cloud.openshift.com": entry, "quay.io": entry}}).to_string(), auth)
}

struct World {
    server: Server,
    provider: IdentityProvider,
}

impl World {
    async fn new(tenancy: bool) -> Self {
        Self::with(|settings| settings.accounts.org_tenancy = tenancy).await
    }

    async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let provider = IdentityProvider::start("assisted", "service-secret");
        let mut settings = Settings::default();
        settings.auth.auth_type = AuthType::Rhsso;
        settings.http.service_base_url = "http://assisted.local:8090".to_owned();
        settings.images.agent_delivery = AgentDelivery::Image;
        settings.versions.updates_url = provider.issuer();
        let accounts = &mut settings.accounts;
        accounts.jwks_url = format!("{}/jwks", provider.issuer());
        accounts.ocm_token_url = format!("{}/token", provider.issuer());
        accounts.ocm_service_client_id = "assisted".to_owned();
        accounts.ocm_service_client_secret = "service-secret".into();
        accounts.admin_users = vec!["root".to_owned()];
        change(&mut settings);
        for user in ["ann", "bob"] {
            provider.add_account(&pull_secret(user).1, user);
        }
        Self { server: Server::start(settings).await, provider }
    }

    fn token(&self, user: &str, org: &str) -> String {
        self.provider.token(&claims(user, org))
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        header: (&str, &str),
        body: Option<Value>,
    ) -> (u16, Value) {
        let request = self.server.client.request(method, format!("{}{path}", self.server.url));
        let request = request.header(header.0, header.1);
        let request = if let Some(body) = body { request.json(&body) } else { request };
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap_or_default())
    }

    async fn user(&self, method: Method, path: &str, token: &str, body: Option<Value>) -> (u16, Value) {
        self.ask(method, path, ("Authorization", &format!("bearer {token}")), body).await
    }

    async fn cluster(&self, token: &str, user: &str) -> (u16, Value) {
        let body = json!({"name": "one", "openshift_version": "4.22", "pull_secret": pull_secret(user).0});
        self.user(Method::POST, "/v2/clusters", token, Some(body)).await
    }

    /// A cluster, its path and the name of its subscription.
    async fn subscribed(&self, token: &str, user: &str) -> (Value, String, String) {
        let (status, made) = self.cluster(token, user).await;
        assert_eq!(status, 201, "{made}");
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        let (path, subscription) = (format!("/v2/clusters/{}", text("id")), text("ams_subscription_id"));
        (made, path, subscription)
    }

    /// What the account service keeps under a name; null: nothing.
    fn kept(&self, subscription: &str) -> Value {
        self.provider.subscriptions().remove(subscription).unwrap_or_default()
    }

    async fn infra_env(&self, token: &str, user: &str) -> Value {
        let body = json!({"name": user, "pull_secret": pull_secret(user).0, "openshift_version": "4.20"});
        let (status, made) = self.user(Method::POST, "/v2/infra-envs", token, Some(body)).await;
        assert_eq!(status, 201, "{made}");
        made
    }
}

fn claims(user: &str, org: &str) -> Value {
    json!({"username": user, "org_id": org, "email": format!("{user}@example.com"), "exp": 4_000_000_000_u64})
}

#[tokio::test]
async fn users_see_what_they_own_and_with_tenancy_what_their_organisation_has() {
    for tenancy in [false, true] {
        let world = World::new(tenancy).await;
        let of = |user: &str, org: &str| world.token(user, org);
        let (ann, bob, eve, root) = (of("ann", "blue"), of("bob", "blue"), of("eve", "red"), of("root", ""));
        world.provider.let_read("auditor");
        let auditor = of("auditor", "");
        let infra_env = world.infra_env(&ann, "ann").await;
        assert_eq!((&infra_env["user_name"], &infra_env["org_id"]), (&json!("ann"), &json!("blue")));
        assert_eq!(infra_env["email_domain"], "example.com");
        let path = format!("/v2/infra-envs/{}", infra_env["id"].as_str().unwrap());
        let seen = if tenancy { 200 } else { 404 };
        for (token, expected) in [(&ann, 200), (&bob, seen), (&eve, 404), (&root, 200), (&auditor, 200)] {
            assert_eq!(world.user(Method::GET, &path, token, None).await.0, expected);
            let (_, list) = world.user(Method::GET, "/v2/infra-envs", token, None).await;
            assert_eq!(list.as_array().unwrap().len(), usize::from(expected == 200));
        }
        let change = json!({"additional_ntp_sources": "ntp.example.com"});
        let refused = if tenancy { 403 } else { 404 };
        for (token, expected) in [(&bob, refused), (&eve, 404), (&auditor, 403), (&ann, 201), (&root, 201)] {
            let (status, body) = world.user(Method::PATCH, &path, token, Some(change.clone())).await;
            assert_eq!(status, expected, "{body}");
        }
        let of_owner = |owner: &str| format!("/v2/infra-envs?owner={owner}");
        for (owner, expected) in [("ann", 1), ("bob", 0)] {
            let (_, list) = world.user(Method::GET, &of_owner(owner), &root, None).await;
            assert_eq!(list.as_array().unwrap().len(), expected, "{owner}");
        }
        world.server.stop().await;
    }
}

#[tokio::test]
async fn a_token_has_to_be_of_the_account_service() {
    let world = World::new(false).await;
    let good = claims("ann", "blue");
    let mut over = good.clone();
    over["exp"] = json!(1);
    let mut early = good.clone();
    early["nbf"] = json!(4_000_000_000_u64);
    let mut unused = good.clone();
    unused["iat"] = json!(4_000_000_000_u64);
    let provider = &world.provider;
    const INVALID: &str = "Error parsing token or token is invalid";
    for (token, expected) in [
        (provider.token(&good), None),
        (provider.token(&unused), None),
        (provider.token(&json!({"preferred_username": "ann"})), None),
        (provider.token(&over), Some(INVALID)),
        (provider.token(&early), Some(INVALID)),
        (provider.forged(&good), Some(INVALID)),
        (provider.unsigned(&good), Some(INVALID)),
        (provider.confused(&good), Some("Error validating token algorithm: Expected RS256 signing method")),
        (provider.token(&json!({"sub": "1"})), Some("Missing username in token")),
        ("x".to_owned(), Some(INVALID)),
    ] {
        let (status, body) = world.user(Method::GET, "/v2/clusters", &token, None).await;
        match expected {
            None => assert_eq!(status, 200, "{body}"),
            Some(told) => assert_eq!((status, &body["message"]), (401, &json!(told))),
        }
    }
    provider.bar("eve");
    let eve = world.token("eve", "red");
    let (status, body) = world.user(Method::GET, "/v2/clusters", &eve, None).await;
    let told = json!("eve: Unauthorized to access route (access review failed)");
    assert_eq!((status, &body["message"]), (403, &told));
    let page = world.server.metrics().await;
    assert_eq!(counted(&page, 403, "/v2/clusters"), Some(1));
    let reviews = r#"operation_duration_miliseconds_count{operation="OCM-AccessReview"} "#;
    assert!(page.contains(reviews), "{page}");
    // What is known need not be asked for again; what is not known can't be told without the account service.
    provider.set_silent(true);
    let ann = world.token("ann", "blue");
    assert_eq!(world.user(Method::GET, "/v2/clusters", &ann, None).await.0, 200);
    let new = world.token("new", "blue");
    assert_eq!(world.user(Method::GET, "/v2/clusters", &new, None).await.0, 503);
    world.server.stop().await;
}

#[tokio::test]
async fn an_agent_is_whoever_its_pull_secret_belongs_to() {
    let world = World::new(true).await;
    let ann = world.token("ann", "blue");
    let infra_env = world.infra_env(&ann, "ann").await;
    let id = infra_env["id"].as_str().unwrap();
    let host = json!({"host_id": Uuid::new_v4()});
    let path = format!("/v2/infra-envs/{id}/hosts");
    for (shown, expected) in [
        (pull_secret("ann").1, 201),
        (pull_secret("bob").1, 404),
        (pull_secret("eve").1, 401),
        ("x".to_owned(), 401),
    ] {
        let (status, body) =
            world.ask(Method::POST, &path, ("X-Secret-Key", &shown), Some(host.clone())).await;
        assert_eq!(status, expected, "{body}");
    }
    // Its image has that part of the pull secret for its agent.
    let path = format!("/v2/infra-envs/{id}/downloads/files?file_name=discovery.ign");
    let answer =
        world.server.client.get(format!("{}{path}", world.server.url)).bearer_auth(&ann).send().await;
    let config = answer.unwrap().text().await.unwrap();
    assert!(config.contains(&pull_secret("ann").1), "{config}");
    world.server.stop().await;
}

#[tokio::test]
async fn the_address_of_an_image_is_signed_for_hours() {
    let world = World::new(false).await;
    let ann = world.token("ann", "blue");
    let (one, other) = (world.infra_env(&ann, "ann").await, world.infra_env(&ann, "ann").await);
    let id = |infra_env: &Value| infra_env["id"].as_str().unwrap().to_owned();
    let token = |infra_env: &Value| {
        let url = infra_env["download_url"].as_str().unwrap();
        url.split_once("/bytoken/").unwrap().1.split('/').next().unwrap().to_owned()
    };
    assert!(!one["expires_at"].as_str().unwrap().starts_with("0001"), "{one}");
    let path = |infra_env: &Value| {
        format!("/v2/infra-envs/{}/downloads/files?file_name=discovery.ign", id(infra_env))
    };
    let header = token(&one);
    assert_eq!(world.ask(Method::GET, &path(&one), ("Image-Token", &header), None).await.0, 200);
    let (status, body) = world.ask(Method::GET, &path(&other), ("Image-Token", &header), None).await;
    let told =
        format!("Token for infraEnv ID {}, is unauthorized to access infraEnv ID {}", id(&one), id(&other));
    assert_eq!((status, &body["message"]), (403, &json!(told)));
    // As part of an address, too.
    let presigned = format!("/v2/infra-envs/{}/downloads/files-presigned?file_name=ipxe-script", id(&one));
    let (_, made) = world.user(Method::GET, &presigned, &ann, None).await;
    let url = made["url"].as_str().unwrap();
    let (_, query) = url.split_once('?').unwrap();
    assert!(query.starts_with("file_name=ipxe-script&image_token="), "{url}");
    let url = format!("/v2/infra-envs/{}/downloads/files?{query}", id(&one));
    let answer = world.server.client.get(format!("{}{url}", world.server.url)).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(answer.text().await.unwrap().contains("image_token="));
    // Another key makes all addresses worthless.
    let anew = format!("/v2/infra-envs/{}/regenerate-signing-key", id(&one));
    assert_eq!(world.user(Method::POST, &anew, &ann, None).await.0, 204);
    assert_eq!(world.ask(Method::GET, &path(&one), ("Image-Token", &header), None).await.0, 401);
    let (_, fresh) = world
        .user(Method::GET, &format!("/v2/infra-envs/{}/downloads/image-url", id(&one)), &ann, None)
        .await;
    let fresh = token(&json!({"download_url": fresh["url"]}));
    assert_eq!(world.ask(Method::GET, &path(&one), ("Image-Token", &fresh), None).await.0, 200);
    world.server.stop().await;
}

#[tokio::test]
async fn the_account_service_keeps_a_subscription_of_each_cluster() {
    let world = World::new(false).await;
    let ann = world.token("ann", "blue");
    let (made, path, id) = world.subscribed(&ann, "ann").await;
    let expected = json!({
        "id": id, "status": "Reserved", "cluster_id": made["id"], "display_name": "one", "creator": "ann",
    });
    assert_eq!(world.kept(&id), expected);
    let (_, read) = world.user(Method::GET, &path, &ann, None).await;
    assert_eq!(read["ams_subscription_id"], json!(id));
    for (ids, expected) in [(format!("{id},unknown"), 1), ("unknown".to_owned(), 0)] {
        let path = format!("/v2/clusters?ams_subscription_ids={ids}");
        let (_, list) = world.user(Method::GET, &path, &ann, None).await;
        assert_eq!(list.as_array().unwrap().len(), expected, "{ids}");
    }

    // Its name follows that of the cluster, and the cluster's is changed with it or not at all.
    let rename = |name: &str| Some(json!({"name": name}));
    assert_eq!(world.user(Method::PATCH, &path, &ann, rename("two")).await.0, 201);
    assert_eq!(world.kept(&id)["display_name"], json!("two"));
    let asked = || world.provider.asked(&format!("/api/accounts_mgmt/v1/subscriptions/{id}"));
    let before = asked();
    assert_eq!(world.user(Method::PATCH, &path, &ann, rename("two")).await.0, 201);
    assert_eq!(asked(), before, "it has that name already");
    for refusal in [401, 403, 404, 500] {
        world.provider.refuse_subscriptions(Some(refusal));
        let (status, body) = world.user(Method::PATCH, &path, &ann, rename("three")).await;
        assert_eq!(status, refusal, "{body}");
        world.provider.refuse_subscriptions(None);
        let (_, read) = world.user(Method::GET, &path, &ann, None).await;
        assert_eq!((&read["name"], &world.kept(&id)["display_name"]), (&json!("two"), &json!("two")));
    }

    // What was never installed ends with its cluster.
    world.provider.refuse_subscriptions(Some(400));
    let (status, body) = world.user(Method::DELETE, &path, &ann, None).await;
    assert_eq!(status, 500, "{body}");
    world.provider.refuse_subscriptions(None);
    assert_eq!(world.user(Method::GET, &path, &ann, None).await.0, 200, "nothing was changed");
    assert_eq!(world.user(Method::DELETE, &path, &ann, None).await.0, 204);
    assert!(world.kept(&id).is_null());
    let (_, path, used) = world.subscribed(&ann, "ann").await;
    world.provider.activate(&used);
    assert_eq!(world.user(Method::DELETE, &path, &ann, None).await.0, 204);
    assert_eq!(world.kept(&used)["status"], json!("Active"));
    let (_, path, lost) = world.subscribed(&ann, "ann").await;
    world.provider.lose_subscription(&lost);
    assert_eq!(world.user(Method::DELETE, &path, &ann, None).await.0, 204);
    world.server.stop().await;
}

#[tokio::test]
async fn there_is_no_cluster_without_a_subscription() {
    let world = World::new(false).await;
    let ann = world.token("ann", "blue");
    for refusal in [400, 403, 500] {
        world.provider.refuse_subscriptions(Some(refusal));
        let (status, body) = world.cluster(&ann, "ann").await;
        let told = format!(
            "failed to integrate with AMS on cluster registration: the account service answers with status {refusal}"
        );
        assert!(status == 500 && body["reason"].as_str().unwrap().ends_with(&told), "{status} {body}");
    }
    let (_, list) = world.user(Method::GET, "/v2/clusters", &ann, None).await;
    assert_eq!(list, json!([]));
    assert!(world.provider.subscriptions().is_empty());
    // Those that are installed elsewhere have none.
    world.provider.refuse_subscriptions(None);
    let existing =
        json!({"name": "i", "api_vip_dnsname": "api.i.example.com", "openshift_cluster_id": Uuid::new_v4()});
    let (status, made) = world.user(Method::POST, "/v2/clusters/import", &ann, Some(existing)).await;
    assert_eq!((status, made.get("ams_subscription_id")), (201, None), "{made}");
    world.server.stop().await;
}

#[tokio::test]
async fn a_right_to_a_subscription_is_one_to_its_cluster() {
    for tenancy in [false, true] {
        let world = World::new(tenancy).await;
        let (ann, bob) = (world.token("ann", "blue"), world.token("bob", "blue"));
        let (_, path, id) = world.subscribed(&ann, "ann").await;
        let (_, _, other) = world.subscribed(&ann, "ann").await;
        let rename = || Some(json!({"name": "two"}));
        let refused = if tenancy { 403 } else { 404 };
        world.provider.let_change("bob", &other);
        assert_eq!(world.user(Method::PATCH, &path, &bob, rename()).await.0, refused);
        world.provider.let_change("bob", &id);
        let (status, body) = world.user(Method::PATCH, &path, &bob, rename()).await;
        assert_eq!(status, if tenancy { 201 } else { refused }, "{body}");
        world.server.stop().await;
    }
}

#[tokio::test]
async fn organisations_have_what_they_are_granted() {
    let world = World::with(|settings| settings.accounts.org_feature_gates = true).await;
    let (ann, bob) = (world.token("ann", "blue"), world.token("bob", "red"));
    world.provider.add_to("o-1", "ann");
    world.provider.grant("o-1", "bare_metal_installer_soft_timeouts");
    let (made, path, _) = world.subscribed(&ann, "ann").await;
    assert_eq!(made["org_soft_timeouts_enabled"], json!(true));
    // He has an account in no organisation.
    let (made, _, _) = world.subscribed(&bob, "bob").await;
    assert_eq!(made.get("org_soft_timeouts_enabled"), None, "{made}");

    let path = format!("{path}/ignored-validations");
    let told = json!("the capability to ignore validations is not available");
    let wanted = json!({"host-validation-ids": "[\"ntp-synced\"]", "cluster-validation-ids": ""});
    for (method, body) in [(Method::GET, None), (Method::PUT, Some(wanted.clone()))] {
        let (status, answer) = world.user(method, &path, &ann, body).await;
        assert_eq!((status, &answer["reason"]), (400, &told), "{answer}");
    }
    world.provider.grant("o-1", "ignore_validations");
    let (status, answer) = world.user(Method::PUT, &path, &ann, Some(wanted)).await;
    assert!((200..300).contains(&status), "{status} {answer}");
    assert_eq!(world.user(Method::GET, &path, &ann, None).await.0, 200);
    world.server.stop().await;
}

#[tokio::test]
async fn everything_a_silent_account_service_is_not_waited_for_for_long() {
    let world = World::new(false).await;
    let ann = world.token("ann", "blue");
    let (_, path, id) = world.subscribed(&ann, "ann").await;
    world.provider.stall_subscriptions(true);
    let (status, body) = world.user(Method::PATCH, &path, &ann, Some(json!({"name": "two"}))).await;
    assert_eq!(status, 503, "{body}");
    // Reading is tried more often than changing.
    assert_eq!(world.user(Method::DELETE, &path, &ann, None).await.0, 500);
    world.provider.stall_subscriptions(false);
    let (_, read) = world.user(Method::GET, &path, &ann, None).await;
    assert_eq!((&read["name"], &world.kept(&id)["display_name"]), (&json!("one"), &json!("one")));
    world.server.stop().await;
}
