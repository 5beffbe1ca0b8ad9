//! A registry outside of the cluster, to which images of nodes are pushed in place of the one that is embedded in a cluster in image mode: with
//! TLS, by an authority that nobody else knows, and for those who have its password.

use std::net::IpAddr;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use uuid::Uuid;

use super::tls::{CA, Certificate};
use super::{LabError, Plan, forget, write_secret};
use crate::network::{GATEWAY, Network, NetworkError, Running};

/// Its name, as images have it, and where images of nodes are in it.
pub(super) const ADDRESS: &str = "192.168.126.1:5443";
pub(super) const REPOSITORY: &str = "192.168.126.1:5443/lab";

/// Its folder, in the lab's.
const DIR: &str = "image-registry";
const USER: &str = "lab";
/// The cost of a guess: the password lasts as long as the lab.
const BCRYPT_COST: u32 = 4;

/// A registry that runs.
pub(super) struct ImageRegistry {
    server: Running,
    password: String,
}

impl ImageRegistry {
    /// Starts it on the network, if there is to be one; what an earlier one had is gone.
    pub(super) fn start(plan: &Plan, network: &Network) -> Result<Option<Self>, LabError> {
        if !plan.external_registry {
            return Ok(None);
        }
        let dir = plan.dir.join(DIR);
        forget(&dir)?;
        std::fs::create_dir_all(&dir).map_err(LabError::io(&dir))?;
        let certificate = Certificate::make(&dir, &[IpAddr::V4(GATEWAY)])?;
        let password = Uuid::new_v4().simple().to_string();
        let (users, settings) = (dir.join("htpasswd"), dir.join("settings.json"));
        write_secret(&users, &format!("{USER}:{}\n", bcrypt::hash(&password, BCRYPT_COST)?))?;
        // JSON is YAML; paths need no other quoting. Each request is told: who has asked for what can be looked up.
        let text = json!({
            "version": "0.1",
            "log": {"level": "warn"},
            "storage": {"filesystem": {"rootdirectory": dir.join("images")}},
            "auth": {"htpasswd": {"realm": "lab", "path": users}},
            "http": {
                "addr": ADDRESS, "secret": Uuid::new_v4().to_string(),
                "tls": {"certificate": certificate.chain, "key": certificate.key},
            },
        });
        write_secret(&settings, &text.to_string())?;
        let mut command = network.command("docker-registry");
        command.arg("serve").arg(&settings);
        let server = Running::start("the registry of images", &mut command, &dir.join("registry.log"))?;
        Ok(Some(Self { server, password }))
    }

    /// What files of credentials have of it.
    pub(super) fn credentials(&self) -> Value {
        json!({"auth": STANDARD.encode(format!("{USER}:{}", self.password))})
    }

    pub(super) fn must_live(&mut self) -> Result<(), NetworkError> {
        self.server.must_live()
    }
}

/// The file with its authority, whom the service and all machines trust: by a variable that both kinds of their programs read, those in Go and our
/// own. Elsewhere its owner has it among the authorities of the system.
pub(super) fn authority(plan: &Plan) -> Option<PathBuf> {
    plan.external_registry.then(|| plan.dir.join(DIR).join(CA))
}
