//! People whom an identity provider knows: a browser, a device, and a provider that makes mistakes.

use assisted_config::{AuthType, Settings};
use assisted_testkit::{IdentityProvider, TokenFault};
use reqwest::{Client, Method, Response, redirect};
use serde_json::{Value, json};

use crate::authorisation::local;
use crate::server::Server;

struct World {
    server: Server,
    provider: IdentityProvider,
    browser: Client,
}

fn settings(provider: &IdentityProvider) -> Settings {
    let (mut settings, _) = local();
    settings.auth.auth_type = AuthType::Users;
    settings.http.service_base_url = "http://assisted.local:8090".to_owned();
    settings.oidc.issuer = provider.issuer();
    settings.oidc.client_id = "assisted".to_owned();
    settings.oidc.client_secret = "s3cret+/&".into();
    settings.oidc.organisation_claim = "org".to_owned();
    settings.oidc.admins = vec!["ops".to_owned()];
    settings.oidc.editors = vec!["dev".to_owned()];
    settings.oidc.viewers = vec!["staff".to_owned()];
    settings
}

impl World {
    async fn new() -> Self {
        // As it travels (RFC 6749 §2.3.1).
        let provider = IdentityProvider::start("assisted", "s3cret%2B%2F%26");
        let server = Server::start(settings(&provider)).await;
        let browser = Client::builder().redirect(redirect::Policy::none()).build().unwrap();
        Self { server, provider, browser }
    }

    fn person(&self, subject: &str, name: &str, groups: &[&str]) {
        let claims = json!({
            "sub": subject, "preferred_username": name, "groups": groups, "org": "blue", "email": format!("{name}@example.com"),
        });
        self.provider.set_person(claims);
    }

    async fn get(&self, url: &str, cookie: &str) -> Response {
        self.browser.get(url).header("Cookie", cookie).send().await.unwrap()
    }

    /// Begins; returns where the provider sends the browser back to, and the cookie that it has.
    async fn begin(&self) -> (String, String) {
        let begun = self.get(&format!("{}/auth/oidc/login", self.server.url), "").await;
        assert_eq!(begun.status(), 303);
        let cookie = begun.headers()["set-cookie"].to_str().unwrap().to_owned();
        assert!(cookie.contains("HttpOnly; SameSite=Lax"), "{cookie}");
        let to = begun.headers()["location"].to_str().unwrap().to_owned();
        let agreed = self.get(&to, "").await;
        assert_eq!(agreed.status(), 302);
        let back = agreed.headers()["location"].to_str().unwrap();
        let back = back.replace("http://assisted.local:8090/api/assisted-install", &self.server.url);
        (back, cookie.split(';').next().unwrap().to_owned())
    }

    /// A whole log-in in a browser: its status, and the session's cookie.
    async fn login(&self) -> (u16, Option<String>) {
        let (back, cookie) = self.begin().await;
        let end = self.get(&back, &cookie).await;
        let cookies = end.headers().get_all("set-cookie").iter().filter_map(|value| value.to_str().ok());
        let session = cookies.filter(|text| text.starts_with("assisted_session=")).map(str::to_owned).next();
        (end.status().as_u16(), session)
    }

    async fn me(&self, session: &str) -> (u16, Value) {
        let cookie = session.split(';').next().unwrap();
        let answer = self.get(&format!("{}/auth/me", self.server.url), cookie).await;
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    async fn post(&self, path: &str, body: Option<Value>) -> (u16, Value) {
        self.server.call(Method::POST, path, body).await
    }
}

#[tokio::test]
async fn a_browser_logs_in_and_its_claims_are_its_role() {
    let world = World::new().await;
    for (groups, role) in [(&["dev", "x"][..], "editor"), (&["ops"], "admin"), (&["staff"], "viewer")] {
        world.person("1", "ann", groups);
        let (status, session) = world.login().await;
        assert_eq!(status, 303);
        let session = session.unwrap();
        assert!(session.contains("HttpOnly; SameSite=Strict"), "{session}");
        let (status, me) = world.me(&session).await;
        assert_eq!((status, &me["role"], &me["user"]["organisation"]), (200, &json!(role), &json!("blue")));
    }
    // Somebody without a role does not get in, and whoever had one is known by it no more.
    world.person("1", "ann", &["others"]);
    assert_eq!(world.login().await, (401, None));
    world.server.stop().await;
}

#[tokio::test]
async fn who_loses_a_right_loses_the_sessions_with_it() {
    let world = World::new().await;
    world.person("1", "ann", &["ops"]);
    let session = world.login().await.1.unwrap();
    assert_eq!(world.me(&session).await.0, 200);
    world.person("1", "ann", &["staff"]);
    let lesser = world.login().await.1.unwrap();
    assert_eq!(world.me(&session).await.0, 401);
    assert_eq!(world.me(&lesser).await.1["role"], "viewer");
    world.server.stop().await;
}

#[tokio::test]
async fn a_name_stays_with_whom_it_belongs_to() {
    let world = World::new().await;
    let code = world.server.setup_code().await.unwrap();
    let body = json!({"code": code, "name": "root", "password": "correct horse battery"});
    let (status, login) = world.post("/auth/setup", Some(body)).await;
    assert_eq!(status, 200, "{login}");
    let token = login["token"].as_str().unwrap();
    // Neither by the name of somebody here, nor by that of somebody whom the provider had before.
    world.person("9", "root", &["ops"]);
    assert_eq!(world.login().await, (409, None));
    world.person("1", "ann", &["dev"]);
    assert_eq!(world.login().await.0, 303);
    world.person("2", "ann", &["dev"]);
    assert_eq!(world.login().await, (409, None));
    world.person("3", "a b\n", &["dev"]);
    assert_eq!(world.login().await, (400, None));
    // A password would be a second way in.
    let url = format!("{}/auth/users/ann", world.server.url);
    let change = json!({"password": "correct horse battery"});
    let answer = world.browser.patch(url).bearer_auth(token).json(&change).send().await.unwrap();
    assert_eq!(answer.status(), 400);
    let body = json!({"name": "ann", "password": "correct horse battery"});
    assert_eq!(world.post("/auth/login", Some(body)).await.0, 401);
    world.server.stop().await;
}

#[tokio::test]
async fn a_token_with_any_fault_lets_nobody_in() {
    let world = World::new().await;
    world.person("1", "ann", &["ops"]);
    for fault in TokenFault::ALL {
        world.provider.set_fault(Some(fault));
        assert_eq!(world.login().await, (401, None), "{fault:?}");
    }
    world.provider.set_fault(None);
    assert_eq!(world.login().await.0, 303);
    // Keys are rotated.
    world.provider.rotate();
    assert_eq!(world.login().await.0, 303);
    world.provider.set_silent(true);
    let begun = world.get(&format!("{}/auth/oidc/login", world.server.url), "").await;
    // Where the provider is was known already.
    assert_eq!(begun.status(), 303);
    world.provider.set_silent(false);
    let (back, cookie) = world.begin().await;
    world.provider.set_silent(true);
    let end = world.get(&back, &cookie).await;
    assert_eq!(end.status(), 503);
    assert!(end.headers().contains_key("retry-after"));
    world.server.stop().await;
}

#[tokio::test]
async fn only_the_browser_that_began_ends_it_and_once() {
    let world = World::new().await;
    world.person("1", "ann", &["ops"]);
    let (back, cookie) = world.begin().await;
    let (_, other) = world.begin().await;
    for cookie in ["", "assisted_login=x", &other] {
        let end = world.get(&back, cookie).await;
        assert_eq!(end.status(), 401, "{cookie}");
        // A stranger learns nothing.
        let told: Value = end.json().await.unwrap();
        assert_eq!(told["message"], "the log-in was not accepted; the service's log has the reason");
    }
    assert_eq!(world.get(&back, &cookie).await.status(), 303);
    assert_eq!(world.get(&back, &cookie).await.status(), 401);
    let denied = format!("{}/auth/oidc/callback?error=access_denied&state=x", world.server.url);
    assert_eq!(world.get(&denied, &cookie).await.status(), 401);
    world.server.stop().await;
}

#[tokio::test]
async fn a_device_logs_in_when_somebody_agrees() {
    let world = World::new().await;
    world.person("1", "ann", &["dev"]);
    let (status, begun) = world.post("/auth/oidc/device", None).await;
    assert_eq!((status, &begun["user_code"]), (200, &json!("WDJB-MJHT")), "{begun}");
    let code = json!({"device_code": begun["device_code"]});
    assert_eq!(world.post("/auth/oidc/device/token", Some(code.clone())).await, (202, json!({"slower": 0})));
    world.provider.approve_devices();
    let (status, login) = world.post("/auth/oidc/device/token", Some(code.clone())).await;
    assert_eq!((status, &login["user"]["role"]), (200, &json!("editor")), "{login}");
    // Once.
    assert_eq!(world.post("/auth/oidc/device/token", Some(code)).await.0, 401);
    let unknown = json!({"device_code": "x".repeat(5000)});
    assert_eq!(world.post("/auth/oidc/device/token", Some(unknown)).await.0, 401);
    world.server.stop().await;
}

#[tokio::test]
async fn settings_that_let_nobody_in_do_not_start() {
    let provider = IdentityProvider::start("assisted", "");
    let server = Server::start(Settings::default()).await;
    type Change = fn(&mut Settings);
    let changes: [(Change, &str); 5] = [
        (|settings| settings.auth.auth_type = AuthType::Local, "AUTH_TYPE is not users"),
        (|settings| settings.oidc.client_id.clear(), "OIDC_CLIENT_ID"),
        (
            |settings| {
                let oidc = &mut settings.oidc;
                [&mut oidc.admins, &mut oidc.editors, &mut oidc.viewers].into_iter().for_each(Vec::clear);
            },
            "OIDC_ADMINS",
        ),
        (|settings| settings.oidc.issuer = "http://id.example.com".to_owned(), "reached without TLS"),
        (|settings| settings.oidc.ca_file = "/nowhere".to_owned(), "OIDC_CA_FILE"),
    ];
    for (change, told) in changes {
        let mut settings = settings(&provider);
        change(&mut settings);
        let refused = assisted_api::Api::new(server.service.clone(), &settings).err().unwrap().to_string();
        assert!(refused.contains(told), "{refused}");
    }
    server.stop().await;
}
