//! A service that takes nobody without a token, and speaks TLS: hosts show the token of their infra-env, and the user is
//! someone else.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use assisted_auth::Signer;
use assisted_config::AuthType;
use assisted_service::cluster::GetCluster;
use assisted_service::{Caller, TokenResource};
use assisted_simhost::connection::Access;
use assisted_simhost::drive::{self, DriveError, Target};
use assisted_simhost::plan::{PULL_SECRET, Plan, Shape};
use assisted_simhost::simulation::Simulation;
use assisted_simhost::tls::Tls;
use assisted_simhost::topology::Topology;
use assisted_simhost::world::Site;
use assisted_wire::cluster::{Cluster, ClusterStatus};
use assisted_wire::id::{ClusterId, InfraEnvId};
use assisted_wire::secret::Secret;
use jiff::{Span, Timestamp};
use p256::pkcs8::{EncodePrivateKey, EncodePublicKey, LineEnding};
use rustls::ServerConfig;
use serde_json::json;
use tempfile::TempDir;
use uuid::Uuid;

use crate::service::{Data, Otherwise, Server};

const LIMIT: Duration = Duration::from_secs(120);

/// Certificate and key for the loopback address, in a folder.
fn certificate(dir: &Path) -> Arc<ServerConfig> {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    std::fs::write(dir.join("cert.pem"), made.cert.pem()).unwrap();
    std::fs::write(dir.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    assisted_api::server::tls(&dir.join("cert.pem"), &dir.join("key.pem"), "").unwrap()
}

struct Guarded {
    server: Server,
    signer: Signer,
    caller: Caller,
    dir: TempDir,
    _data: Data,
}

impl Guarded {
    async fn start() -> Self {
        let key = p256::SecretKey::from_slice(&[7; 32]).unwrap();
        let public = key.public_key().to_public_key_pem(LineEnding::LF).unwrap();
        let private = Secret::from(key.to_pkcs8_pem(LineEnding::LF).unwrap().as_str());
        let data = Data::sqlite();
        let dir = tempfile::tempdir().unwrap();
        let otherwise = Otherwise {
            tls: Some(certificate(dir.path())),
            settings: Some(Box::new(move |settings| {
                settings.auth.auth_type = AuthType::Local;
                settings.auth.ec_public_key_pem = public;
            })),
            ..Otherwise::default()
        };
        let server = Server::with(&data, otherwise).await;
        let caller = Caller::admin(Uuid::new_v4());
        Self { server, signer: Signer::new(&private).unwrap(), caller, dir, _data: data }
    }

    /// A cluster that lacks nothing but its hosts, and its infra-env.
    async fn cluster(&self, site: Site) -> (ClusterId, InfraEnvId) {
        let cluster = json!({
            "name": "guarded", "openshift_version": "4.20", "pull_secret": PULL_SECRET,
            "base_dns_domain": "example.com",
            "api_vips": [{"ip": site.api()}], "ingress_vips": [{"ip": site.ingress()}],
        });
        let cluster = serde_json::from_value(cluster).unwrap();
        let cluster =
            Box::pin(self.server.service.clusters().register(&self.caller, cluster)).await.unwrap().id;
        let infra_env = json!({"name": "guarded", "pull_secret": PULL_SECRET, "cluster_id": cluster});
        let infra_env = serde_json::from_value(infra_env).unwrap();
        let infra_env =
            Box::pin(self.server.service.infra_envs().register(&self.caller, infra_env)).await.unwrap();
        (cluster, infra_env.id)
    }

    async fn get(&self, cluster_id: ClusterId) -> Cluster {
        let query = GetCluster { cluster_id, get_unregistered_clusters: false, exclude_hosts: true };
        self.server.service.clusters().get(&self.caller, query).await.unwrap()
    }

    fn target(&self, resource: TokenResource) -> Target {
        let token = self.signer.token(resource, Timestamp::now() + Span::new().hours(1)).unwrap();
        let tls = Tls::new("127.0.0.1", Some(&self.dir.path().join("cert.pem"))).unwrap();
        let access = Access { agent_token: Some(token), tls: Some(tls), ..Access::default() };
        Target { access, patience: Duration::ZERO, ..Target::new(self.server.address) }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_with_the_right_token_are_installed() {
    let guarded = Guarded::start().await;
    let shape = Shape::of(Topology::Compact);
    let (cluster, infra_env) = guarded.cluster(Site::new(0, shape.needs().unwrap()).unwrap()).await;
    let mut plan = Plan::new(shape, 1, 1000.0).unwrap().with_existing(cluster, infra_env).unwrap();
    plan.hosts_only = true;
    let mut simulation = Simulation::new(plan);
    let target = guarded.target(TokenResource::InfraEnv(infra_env));
    let install = async {
        while guarded.get(cluster).await.status != ClusterStatus::Ready {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Box::pin(guarded.server.service.clusters().install(&guarded.caller, cluster)).await.unwrap();
    };
    let install = tokio::time::timeout(LIMIT, install);
    let (now, installed) = tokio::join!(drive::run(&mut simulation, &target, LIMIT, |_, _| true), install);
    installed.unwrap();
    let results = simulation.results(now.unwrap());
    assert!(results[0].as_expected, "{results:#?} {:?}", simulation.refusals());
    guarded.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn others_are_refused() {
    let guarded = Guarded::start().await;
    let shape = Shape::of(Topology::Compact);
    let (cluster, infra_env) = guarded.cluster(Site::new(0, shape.needs().unwrap()).unwrap()).await;
    let mut plan = Plan::new(shape, 1, 1000.0).unwrap().with_existing(cluster, infra_env).unwrap();
    plan.hosts_only = true;

    let stranger = guarded.target(TokenResource::InfraEnv(InfraEnvId::random()));
    let mut simulation = Simulation::new(plan.clone());
    let refused = |simulation: &Simulation| {
        simulation.refusals().keys().any(|refusal| refusal.starts_with("agent: 401: infraEnv"))
    };
    drive::run(&mut simulation, &stranger, LIMIT, |simulation, _| !refused(simulation)).await.unwrap();
    assert!(refused(&simulation), "{:?}", simulation.refusals());

    let mut distrustful = guarded.target(TokenResource::InfraEnv(infra_env));
    distrustful.access.tls = Some(Tls::new("127.0.0.1", None).unwrap());
    let failed = drive::run(&mut Simulation::new(plan), &distrustful, LIMIT, |_, _| true).await;
    let Err(DriveError::Away { cause, .. }) = failed else { panic!("{failed:?}") };
    assert!(format!("{cause:#}").contains("certificate"), "{cause:#}");
    guarded.server.stop().await;
}
