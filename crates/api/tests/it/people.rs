//! People who log in: every operation × every role × whose the object is, the routes below `/auth`, browsers.

use assisted_config::{AuthType, Settings};
use assisted_service::Caller;
use assisted_wire::operation::{self, Location, Operation, Role, Scheme};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::authorisation::local;
use crate::life::PULL_SECRET;
use crate::server::Server;

const PASSWORD: &str = "correct horse battery";

struct UserStore {
    server: Server,
    root: String,
}

impl UserStore {
    async fn new() -> Self {
        Self::of(Server::start(Self::settings()).await).await
    }

    fn settings() -> Settings {
        let (mut settings, _) = local();
        settings.auth.auth_type = AuthType::Users;
        settings
    }

    async fn of(server: Server) -> Self {
        let code = server.setup_code().await.unwrap();
        let body = json!({"code": code, "name": "root", "password": PASSWORD});
        let (status, body) = ask(&server, Method::POST, "/auth/setup", None, Some(body)).await;
        assert_eq!(status, 200, "{body}");
        Self { root: body["token"].as_str().unwrap().to_owned(), server }
    }

    async fn ask(&self, method: Method, path: &str, token: &str, body: Option<Value>) -> (u16, Value) {
        ask(&self.server, method, path, Some(token), body).await
    }

    /// Adds somebody, and lets him in.
    async fn add(&self, name: &str, role: &str, organisation: &str) -> String {
        let body = json!({"name": name, "password": PASSWORD, "role": role, "organisation": organisation});
        let (status, body) = self.ask(Method::POST, "/auth/users", &self.root, Some(body)).await;
        assert_eq!(status, 201, "{body}");
        let body = json!({"name": name, "password": PASSWORD});
        let (status, body) = ask(&self.server, Method::POST, "/auth/login", None, Some(body)).await;
        assert_eq!(status, 200, "{body}");
        body["token"].as_str().unwrap().to_owned()
    }

    async fn cluster(&self, token: &str, name: &str) -> String {
        let body = json!({
            "name": name, "pull_secret": PULL_SECRET, "openshift_version": "4.20", "base_dns_domain": "example.com",
        });
        let (status, body) = self.ask(Method::POST, "/v2/clusters", token, Some(body)).await;
        assert_eq!(status, 201, "{body}");
        body["id"].as_str().unwrap().to_owned()
    }

    async fn infra_env(&self, token: &str, name: &str) -> String {
        let body = json!({"name": name, "pull_secret": PULL_SECRET, "openshift_version": "4.20"});
        let (status, body) = self.ask(Method::POST, "/v2/infra-envs", token, Some(body)).await;
        assert_eq!(status, 201, "{body}");
        body["id"].as_str().unwrap().to_owned()
    }
}

async fn ask(
    server: &Server,
    method: Method,
    path: &str,
    token: Option<&str>,
    body: Option<Value>,
) -> (u16, Value) {
    let mut request = server.client.request(method, format!("{}{path}", server.url));
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    if let Some(body) = body {
        request = request.json(&body);
    }
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    let endless = answer.headers().get("content-type").is_some_and(|kind| kind == "text/event-stream");
    let text = if endless { String::new() } else { answer.text().await.unwrap_or_default() };
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}

/// An operation with its ids filled in, by a person.
async fn operate(
    people: &UserStore,
    operation: &Operation,
    ids: &[(&str, &str)],
    token: &str,
) -> (u16, Value) {
    let mut path = operation.path.to_owned();
    for param in operation.params.iter().filter(|param| param.location == Location::Path) {
        let id = ids.iter().find(|(name, _)| *name == param.name).map_or("x", |(_, id)| id);
        path = path.replace(&format!("{{{}}}", param.name), id);
    }
    let method = Method::from_bytes(operation.method.as_str().as_bytes()).unwrap();
    people.ask(method, &path, token, None).await
}

#[tokio::test]
async fn addresses_of_files_are_for_those_who_may_open_something_and_open_to_all() {
    let people = UserStore::of(Box::pin(Server::start_in_bucket(UserStore::settings())).await).await;
    let ann = people.add("ann", "editor", "blue").await;
    let eve = people.add("eve", "editor", "red").await;
    let vic = people.add("vic", "viewer", "blue").await;
    let cluster = people.cluster(&ann, "anns").await;
    let manifest = json!({"file_name": "a.yaml", "content": "YTogMQo="});
    let manifests = format!("/v2/clusters/{cluster}/manifests");
    assert_eq!(people.ask(Method::POST, &manifests, &ann, Some(manifest)).await.0, 201);
    let downloads = format!("/v2/clusters/{cluster}/downloads");
    let file = format!("{downloads}/files-presigned?file_name=manifests&additional_name=manifests/a.yaml");
    // It is too early for them, which those are told who may have them.
    let credentials = format!("{downloads}/credentials-presigned?file_name=kubeconfig");
    for (token, of_file, of_credentials) in
        [(&ann, 200, 409), (&people.root, 200, 409), (&eve, 404, 404), (&vic, 403, 403)]
    {
        let (status, body) = people.ask(Method::GET, &file, token, None).await;
        assert_eq!(status, of_file, "{body}");
        let (status, refused) = people.ask(Method::GET, &credentials, token, None).await;
        assert_eq!(status, of_credentials, "{refused}");
        if of_file != 200 {
            continue;
        }
        let address = body["url"].as_str().unwrap().strip_prefix("/api/assisted-install").unwrap();
        assert_eq!(ask(&people.server, Method::GET, address, None, None).await.0, 200);
        // It opens nothing else.
        let (_, token) = address.split_once("?token=").unwrap();
        let direct = format!("{manifests}/files?file_name=a.yaml&api_key={token}");
        assert_eq!(ask(&people.server, Method::GET, &direct, Some(token), None).await.0, 401);
    }
    assert_eq!(ask(&people.server, Method::GET, &file, None, None).await.0, 401);
    people.server.stop().await;
}

#[tokio::test]
async fn roles_and_owners() {
    let people = UserStore::new().await;
    let ann = people.add("ann", "editor", "blue").await;
    let bob = people.add("bob", "editor", "blue").await;
    let eve = people.add("eve", "editor", "red").await;
    let vic = people.add("vic", "viewer", "blue").await;
    let (cluster, infra_env) = (people.cluster(&ann, "anns").await, people.infra_env(&ann, "anns").await);
    let host = Uuid::new_v4().to_string();
    let ids =
        [("cluster_id", cluster.as_str()), ("infra_env_id", infra_env.as_str()), ("host_id", host.as_str())];
    let forbidden = |status: u16, body: &Value| {
        status == 403 && body["message"].as_str().is_some_and(|text| text.contains("Unauthorized"))
    };
    let hidden = |status: u16, body: &Value| status == 404 && body["reason"] == "Object Not Found";
    let mut walked = 0;
    for operation in operation::all() {
        let name = operation.name;
        let row = operation.security.iter().find(|security| security.scheme == Scheme::User);
        let of_people = row.is_some();
        let of_admins = row.is_some_and(|row| !row.roles.is_empty() && !row.roles.contains(&Role::User));
        let owned = operation.path.contains("{cluster_id}") || operation.path.contains("{infra_env_id}");
        let reads = operation.method == operation::Method::Get;
        let bad = operate(&people, operation, &ids, "asst_nonsense").await;
        assert_eq!(bad.0, 401, "{name} {}", bad.1);
        // Those that end the object would leave nothing to walk with: they have a test of their own.
        if operation.method == operation::Method::Delete && owned {
            continue;
        }
        for (who, token) in
            [("root", &people.root), ("ann", &ann), ("bob", &bob), ("eve", &eve), ("vic", &vic)]
        {
            let (status, body) = operate(&people, operation, &ids, token).await;
            if !of_people {
                assert_eq!(status, 401, "{name} {who} {body}");
                continue;
            }
            walked += 1;
            assert_ne!(status, 401, "{name} {who} {body}");
            if of_admins {
                assert_eq!(forbidden(status, &body), who != "root", "{name} {who} {body}");
                continue;
            }
            match who {
                "root" | "ann" => {
                    assert!(!forbidden(status, &body) && !hidden(status, &body), "{name} {who} {body}");
                }
                "bob" if owned => assert_eq!(forbidden(status, &body), !reads, "{name} {who} {body}"),
                "eve" if owned => assert!(hidden(status, &body), "{name} {who} {status} {body}"),
                "vic" if !reads => assert!(forbidden(status, &body), "{name} {who} {body}"),
                _ => assert!(!hidden(status, &body), "{name} {who} {body}"),
            }
        }
    }
    assert!(walked > 300, "{walked}");

    // Lists show what each may see.
    people.cluster(&eve, "eves").await;
    for (token, expected) in [(&people.root, 2), (&ann, 1), (&bob, 1), (&eve, 1), (&vic, 1)] {
        let (_, clusters) = people.ask(Method::GET, "/v2/clusters", token, None).await;
        assert_eq!(clusters.as_array().unwrap().len(), expected);
        let (_, infra_envs) = people.ask(Method::GET, "/v2/infra-envs", token, None).await;
        assert_eq!(infra_envs.as_array().unwrap().len(), usize::from(token != &eve));
    }
    // Events are of what one sees.
    let path = format!("/v2/events?cluster_id={cluster}");
    for (token, expected) in [(&bob, 200), (&vic, 200), (&eve, 404)] {
        assert_eq!(people.ask(Method::GET, &path, token, None).await.0, expected);
    }
    // Nothing is bound to a cluster of others.
    let body = json!({"name": "eves", "pull_secret": PULL_SECRET, "openshift_version": "4.20", "cluster_id": cluster});
    assert_eq!(people.ask(Method::POST, "/v2/infra-envs", &eve, Some(body)).await.0, 404);
    // A viewer gets nothing that opens anything.
    let path = format!("/v2/infra-envs/{infra_env}");
    assert!(people.ask(Method::GET, &path, &ann, None).await.1["download_url"].is_string());
    assert!(people.ask(Method::GET, &path, &vic, None).await.1.get("download_url").is_none());
    let path = format!("/v2/infra-envs/{infra_env}/downloads/files?file_name=discovery.ign");
    assert_eq!(people.ask(Method::GET, &path, &vic, None).await.0, 403);
    people.server.stop().await;
}

/// What ends an object, for each of five people, each time with an object of its own.
#[tokio::test]
async fn objects_are_ended_by_their_owners_and_by_administrators() {
    let people = UserStore::new().await;
    let ann = people.add("ann", "editor", "blue").await;
    let bob = people.add("bob", "editor", "blue").await;
    let eve = people.add("eve", "editor", "red").await;
    let vic = people.add("vic", "viewer", "blue").await;
    let owned = |operation: &&Operation| {
        let of_objects = operation.path.contains("{cluster_id}") || operation.path.contains("{infra_env_id}");
        operation.method == operation::Method::Delete && of_objects
    };
    let mut walked = 0;
    for operation in operation::all().filter(owned) {
        for (who, token) in
            [("root", &people.root), ("ann", &ann), ("bob", &bob), ("eve", &eve), ("vic", &vic)]
        {
            let name = format!("anns-{walked}");
            let (cluster, infra_env) =
                (people.cluster(&ann, &name).await, people.infra_env(&ann, &name).await);
            let host = Uuid::new_v4().to_string();
            if operation.path.contains("{host_id}") {
                let new = serde_json::from_value(json!({"host_id": host})).unwrap();
                let caller = Caller::admin(Uuid::new_v4());
                let hosts = people.server.service.hosts();
                Box::pin(hosts.register(&caller, infra_env.parse().unwrap(), new)).await.unwrap();
            }
            let ids = [
                ("cluster_id", cluster.as_str()),
                ("infra_env_id", infra_env.as_str()),
                ("host_id", host.as_str()),
            ];
            let (status, body) = operate(&people, operation, &ids, token).await;
            let told = format!("{} {who} {status} {body}", operation.name);
            let forbidden =
                status == 403 && body["message"].as_str().is_some_and(|text| text.contains("Unauthorized"));
            let hidden = status == 404 && body["reason"] == "Object Not Found";
            let expected = (matches!(who, "bob" | "vic"), who == "eve");
            assert_eq!((forbidden, hidden), expected, "{told}");
            walked += 1;
            // Others of these change an object, or want to be told what of it.
            let Some((_, last)) = operation.path.rsplit_once('/') else { continue };
            if last.starts_with('{') {
                let path = ids.iter().fold(operation.path.to_owned(), |path, (name, id)| {
                    path.replace(&format!("{{{name}}}"), id)
                });
                let left = people.ask(Method::GET, &path, &ann, None).await.0;
                let may = matches!(who, "root" | "ann");
                assert_eq!((status == 204, left), (may, if may { 404 } else { 200 }), "{told}");
            }
        }
    }
    assert!(walked >= 5 * 5, "{walked}");
    people.server.stop().await;
}

#[tokio::test]
async fn a_user_has_so_many_clusters_and_infra_envs() {
    let mut settings = UserStore::settings();
    settings.limits.objects_per_user = 2_usize.try_into().unwrap();
    let people = UserStore::of(Server::start(settings).await).await;
    let ann = people.add("ann", "editor", "blue").await;
    let bob = people.add("bob", "editor", "blue").await;
    let cluster = people.cluster(&ann, "one").await;
    people.cluster(&ann, "two").await;
    let infra_env = people.infra_env(&ann, "one").await;
    people.infra_env(&ann, "two").await;
    let server = &people.server;
    for path in ["/v2/clusters", "/v2/clusters/import", "/v2/clusters/disconnected", "/v2/infra-envs"] {
        let request = server.client.post(format!("{}{path}", server.url)).bearer_auth(&ann);
        let answer = request.json(&json!({})).send().await.unwrap();
        assert_eq!(answer.status(), 429, "{path}");
        assert!(answer.headers().contains_key("retry-after"), "{path}");
        assert!(answer.text().await.unwrap().contains("MAX_OBJECTS_PER_USER"), "{path}");
    }
    // Others have their own, and what is deleted makes room.
    people.cluster(&bob, "three").await;
    people.infra_env(&bob, "three").await;
    for path in [format!("/v2/clusters/{cluster}"), format!("/v2/infra-envs/{infra_env}")] {
        assert_eq!(people.ask(Method::DELETE, &path, &ann, None).await.0, 204, "{path}");
    }
    people.cluster(&ann, "three").await;
    people.infra_env(&ann, "three").await;
    people.server.stop().await;
}

#[tokio::test]
async fn a_token_for_one_cluster_opens_nothing_else() {
    let people = UserStore::new().await;
    let (one, other) =
        (people.cluster(&people.root, "one").await, people.cluster(&people.root, "other").await);
    let body = json!({"name": "ci", "expires_in": 3600, "scope": {"resource": {"cluster": one}}});
    let (status, made) = people.ask(Method::POST, "/auth/tokens", &people.root, Some(body)).await;
    assert_eq!(status, 201, "{made}");
    let token = made["token"].as_str().unwrap();
    let get = async |path: String| people.ask(Method::GET, &path, token, None).await;
    assert_eq!(get(format!("/v2/clusters/{one}")).await.0, 200);
    assert_eq!(get(format!("/v2/clusters/{other}")).await.0, 404);
    assert_eq!(get(format!("/v2/events?cluster_id={other}")).await.0, 404);
    assert_eq!(get(format!("/v2/watch?cluster_id={other}")).await.0, 404);
    let (_, clusters) = get("/v2/clusters".to_owned()).await;
    assert_eq!(clusters.as_array().unwrap().len(), 1);
    let body = json!({"name": "x", "pull_secret": PULL_SECRET, "openshift_version": "4.20"});
    assert_eq!(people.ask(Method::POST, "/v2/clusters", token, Some(body)).await.0, 403);
    assert_eq!(people.ask(Method::GET, "/auth/users", token, None).await.0, 403);

    let id = made["id"].as_str().unwrap();
    let (_, listed) = people.ask(Method::GET, "/auth/tokens", &people.root, None).await;
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["token"]), (1, &Value::Null));
    assert_eq!(people.ask(Method::DELETE, &format!("/auth/tokens/{id}"), &people.root, None).await.0, 204);
    assert_eq!(get(format!("/v2/clusters/{one}")).await.0, 401);
    people.server.stop().await;
}

#[tokio::test]
async fn every_route_has_somebody_who_may_ask() {
    use assisted_api::identity::{ROUTES, Route, Who};
    let people = UserStore::new().await;
    let ann = people.add("ann", "editor", "").await;
    for (route, method, path, who) in ROUTES {
        // It would end the session that the others are asked with.
        if *route == Route::Logout {
            continue;
        }
        let path = format!("/auth/{}", path.replace("{}", "nobody"));
        let ask = async |token| ask(&people.server, method.clone(), &path, token, None).await;
        let (status, body) = ask(None).await;
        let unknown = body["message"] == "unauthenticated for invalid credentials";
        assert_eq!((status == 401, unknown), (*who != Who::Anyone, *who != Who::Anyone), "{path} {body}");
        let (status, body) = ask(Some(&ann)).await;
        assert_eq!(status == 403, *who == Who::Admin, "{path} {body}");
        let (status, body) = ask(Some(&people.root)).await;
        assert!(!matches!(status, 401 | 403), "{path} {body}");
    }
    assert_eq!(people.ask(Method::POST, "/auth/logout", &ann, None).await.0, 204);
    assert_eq!(people.ask(Method::GET, "/auth/me", &ann, None).await.0, 401);
    people.server.stop().await;

    let server = Server::start(Settings::default()).await;
    let (status, body) = ask(&server, Method::GET, "/auth/me", None, None).await;
    assert!(status == 404 && body["message"].as_str().unwrap().contains("AUTH_TYPE=users"), "{body}");
    server.stop().await;
}

#[tokio::test]
async fn guessing_is_limited() {
    let people = UserStore::new().await;
    let login = async |password: &str| {
        let url = format!("{}/auth/login", people.server.url);
        people
            .server
            .client
            .post(url)
            .json(&json!({"name": "root", "password": password}))
            .send()
            .await
            .unwrap()
    };
    for _ in 0..5 {
        assert_eq!(login("wrong password").await.status(), 401);
    }
    let refused = login(PASSWORD).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(refused.headers().contains_key("retry-after"));
    // Who is in stays in.
    assert_eq!(people.ask(Method::GET, "/auth/me", &people.root, None).await.0, 200);
    people.server.stop().await;
}

/// A session in a cookie is sent by the browser, whoever made the page: pages of others change nothing.
#[tokio::test]
async fn pages_of_others_use_no_session() {
    let people = UserStore::new().await;
    let server = &people.server;
    let body = json!({"name": "root", "password": PASSWORD, "cookie": true});
    let answer = server.client.post(format!("{}/auth/login", server.url)).json(&body).send().await.unwrap();
    let cookie = answer.headers()["set-cookie"].to_str().unwrap().to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/api/assisted-install"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let cookie = cookie.split(';').next().unwrap();
    let cluster = people.cluster(&people.root, "one").await;
    let send = async |method, origin: Option<&str>, host: Option<&str>, with: Option<&str>| {
        let mut request = server.client.request(method, format!("{}/v2/clusters/{cluster}", server.url));
        request = match with {
            Some(token) => request.bearer_auth(token),
            None => request.header("cookie", cookie),
        };
        for (name, value) in [("origin", origin), ("host", host)] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(send(Method::GET, None, None, None).await, 200);
    assert_eq!(send(Method::DELETE, Some("http://evil.example.com"), None, None).await, 403);
    assert_eq!(send(Method::DELETE, Some("null"), None, None).await, 403);
    assert_eq!(send(Method::GET, None, Some("evil.example.com"), None).await, 421);
    // A token in a header is sent by nobody but the page that has it.
    assert_eq!(
        send(Method::GET, Some("http://evil.example.com"), Some("evil.example.com"), Some(&people.root))
            .await,
        200
    );
    let own = format!("http://{}", server.address);
    assert_eq!(send(Method::DELETE, Some(&own), None, None).await, 204);
    people.server.stop().await;
}

/// Where nobody is authenticated, a page that somebody else made is as good as its maker: names and origins count.
#[tokio::test]
async fn pages_of_others_do_nothing_where_everybody_may() {
    let server = Server::start(Settings::default()).await;
    let id = Uuid::new_v4();
    let send = async |method: Method, path: &str, name: &'static str, value: &str| {
        let request = server.client.request(method, format!("{}{path}", server.url)).header(name, value);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(send(Method::GET, "/v2/clusters", "host", "evil.example.com").await, 421);
    assert_eq!(send(Method::GET, "/v2/clusters", "host", "localhost:1").await, 200);
    let install = format!("/v2/clusters/{id}/actions/install");
    assert_eq!(send(Method::POST, &install, "origin", "http://evil.example.com").await, 403);
    assert_eq!(send(Method::POST, &install, "sec-fetch-site", "cross-site").await, 403);
    assert_eq!(send(Method::POST, &install, "user-agent", "no browser").await, 404);
    // Signs of life are for whatever looks for them.
    let health =
        server.client.get(format!("http://{}/health", server.address)).header("host", "evil.example.com");
    assert_eq!(health.send().await.unwrap().status(), 200);
    server.stop().await;
}
