//! People against a real database.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod people;
mod tokens;

use std::net::IpAddr;

use assisted_auth::users::Authenticated;
use assisted_auth::{PersonRole, Users};
use assisted_store::Store;
use assisted_wire::identity::{Login, NewUser};
use assisted_wire::secret::Secret;
use jiff::Timestamp;
use tempfile::TempDir;

pub const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
pub const GOOD: &str = "correct horse battery";

pub struct World {
    pub users: Users,
    pub now: Timestamp,
    _dir: TempDir,
}

impl World {
    pub async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&format!("sqlite:{}", dir.path().join("test.db").display())).await.unwrap();
        Self { users: Users::new(store.people()).unwrap(), now: Timestamp::now(), _dir: dir }
    }

    /// With an administrator `root`.
    pub async fn with_admin() -> (Self, Login) {
        let world = Self::new().await;
        let code = world.users.setup_code(world.now).await.unwrap().unwrap();
        let login = world.users.set_up(code.expose(), "root", GOOD.into(), HERE, world.now).await.unwrap();
        (world, login)
    }

    pub async fn add(&self, name: &str, role: PersonRole) {
        let new = NewUser {
            name: name.to_owned(),
            password: Secret::from(GOOD),
            role,
            organisation: "blue".to_owned(),
            email: format!("{name}@example.com"),
        };
        self.users.add(new, self.now).await.unwrap();
    }

    pub async fn login(&self, name: &str) -> Authenticated {
        let login = self.users.login(name, GOOD.into(), HERE, self.now).await.unwrap();
        self.users.authenticate(login.token.expose(), self.now).await.unwrap()
    }
}
