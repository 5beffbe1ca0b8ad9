//! A service that asks for accounts, over TLS: a second door to the service of a test, by which the providers come in. Hosts, and the
//! test itself, come in by the first one, which asks nobody.

use std::path::PathBuf;
use std::time::Duration;

use assisted_api::Api as Rest;
use assisted_api::server::{serve, tls};
use assisted_client::Client;
use assisted_config::{AuthType, Settings};
use assisted_service::Service;
use assisted_testkit::{Authority, signing_keys};
use assisted_wire::identity::{LoginParams, NewToken, NewUser, PersonRole, Scope, SetUpParams};
use assisted_wire::secret::Secret;
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::mounted::Mounted;

/// The Secret as it is released, and its members.
const SECRET: &str = "assisted-service";
const TOKEN: &str = "token";
const CA: &str = "ca.crt";

const PASSWORD: &str = "correct horse battery";
const ORGANISATION: &str = "metal";

/// The door, and what is shown there.
pub struct Door {
    pub url: String,
    /// The Secret with token and authority.
    mounted: Mounted,
    own: TempDir,
    authority: Authority,
    root: Secret,
}

impl Door {
    /// Opens it; what is shown there opens nothing yet.
    pub async fn open(service: &Service, settings: &Settings, hub: kube::Client) -> Self {
        let mut settings = settings.clone();
        settings.auth.auth_type = AuthType::Users;
        let (private, public) = signing_keys().unwrap();
        settings.auth.ec_private_key_pem = private.into();
        settings.auth.ec_public_key_pem = public;
        let own = tempfile::tempdir().unwrap();
        let mounted = Mounted::new(hub, "default", SECRET);
        let authority = Authority::new("assisted").unwrap();
        let (certificate, key) = authority.certificate(own.path(), &["127.0.0.1"], (2020, 2090)).unwrap();
        std::fs::write(own.path().join("ca.crt"), &authority.pem).unwrap();
        let tls = tls(&certificate, &key, "").unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let api = Rest::new(service.clone(), &settings).unwrap();
        let code = api.setup_code().await.unwrap().unwrap();
        tokio::spawn(serve(listener, Some(tls), api, std::future::pending()));
        let mut door = Self { url, mounted, own, authority, root: Secret::from("") };
        let params =
            SetUpParams { code, name: "root".to_owned(), password: Secret::from(PASSWORD), cookie: false };
        door.root = door.client(None).set_up(&params).await.unwrap().token;
        door
    }

    /// A client with the right authority.
    pub fn client(&self, token: Option<Secret>) -> Client {
        let builder = Client::builder(&self.url).ca_file(self.own.path().join("ca.crt"));
        match token {
            Some(token) => builder.user_token(token).build().unwrap(),
            None => builder.build().unwrap(),
        }
    }

    pub fn token_file(&self) -> PathBuf {
        self.mounted.member(TOKEN)
    }

    pub fn ca_file(&self) -> PathBuf {
        self.mounted.member(CA)
    }

    /// The token of a new account with a role, made as people make one.
    pub async fn token(&self, role: PersonRole, name: &str, life: Duration) -> String {
        let user = NewUser {
            name: name.to_owned(),
            password: Secret::from(PASSWORD),
            role,
            organisation: ORGANISATION.to_owned(),
            email: String::new(),
        };
        self.client(Some(self.root.clone())).add_user(&user).await.unwrap();
        let params = LoginParams { name: user.name, password: user.password, cookie: false };
        let login = self.client(None).login(&params).await.unwrap();
        let token = NewToken { name: "capi".to_owned(), expires_in: life.as_secs(), scope: Scope::default() };
        let made = self.client(Some(login.token)).create_token(&token).await.unwrap();
        made.token.unwrap().expose().to_owned()
    }

    /// Whether the service takes a token.
    pub async fn takes(&self, token: &str) -> bool {
        self.client(Some(Secret::from(token))).me().await.is_ok()
    }

    /// What the providers show from now on.
    pub async fn show(&self, token: &str) {
        self.mounted.set(TOKEN, token).await;
    }

    /// Whom the providers trust from now on; none: the service's own authority.
    pub async fn trust(&self, authority: Option<&Authority>) {
        self.mounted.set(CA, &authority.unwrap_or(&self.authority).pem).await;
    }
}
