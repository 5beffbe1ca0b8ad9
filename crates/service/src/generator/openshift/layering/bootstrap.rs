//! What the config of the bootstrap host gets (ocl-day1 §B4.3 to §B4.5).

use assisted_core::layering::settings::{BuildLocation as Asked, Scratch as AskedScratch};
use assisted_core::model::facts::HostFacts;
use assisted_ignition::install::{NewFile, Tree};
use assisted_ignition_spec::resource::Resource;
use assisted_ocl::config::{self, Config, PoolBuild, Proxy, Registry, Scratch, Service, mosc_file};
use assisted_ocl::paths;
use assisted_wire::on_cluster_layering::{BuildLocation, Pool};
use serde_json::{Value, json};

use super::extract::UserInput;
use super::registry::Embedded;
use super::{LayeringError, Plan, hook};
use crate::generator::openshift::cluster_input::ClusterInput;

const LAUNCHER: &str = include_str!("scripts/ocl-bootstrap");
/// Where the temporary control plane takes objects from that the cluster gets.
const MANIFESTS: &str = "/opt/openshift/manifests";

/// Images out of the release.
#[derive(Clone, Debug)]
pub struct Images {
    pub mco: String,
    pub docker_registry: String,
}

/// The bootstrap host's part.
pub(super) struct Bootstrap<'a> {
    pub plan: &'a Plan,
    pub known: &'a ClusterInput,
    pub images: &'a Images,
    pub user: &'a UserInput,
    pub embedded: Option<&'a Embedded<'a>>,
}

impl Bootstrap<'_> {
    /// Edits the config.
    pub(super) fn edit(&self, tree: &mut Tree) -> Result<(), LayeringError> {
        self.edit_script(tree)?;
        for (path, mode, content) in self.files()? {
            let source = Resource::bytes(content).source.unwrap_or_default();
            tree.put(NewFile { path: &path, mode, overwrite: true, source })?;
        }
        let drop_in = format!("[Unit]\nConditionPathExists=!{}\n", paths::FAILED);
        let unit = json!({
            "name": "bootkube.service", "dropins": [{"name": paths::BOOTKUBE_DROP_IN, "contents": drop_in}],
        });
        let over = json!({"ignition": {"version": tree.version()}, "systemd": {"units": [unit]}});
        Ok(tree.overlay(&over.to_string())?)
    }

    fn edit_script(&self, tree: &mut Tree) -> Result<(), LayeringError> {
        let refused = || LayeringError::Hook(self.known.record.cluster.openshift_version.clone());
        let text = tree
            .content(paths::BOOTKUBE)
            .and_then(|text| String::from_utf8(text).ok())
            .ok_or_else(refused)?;
        let edited = hook::insert(&text).ok_or_else(refused)?;
        Ok(tree.replace(paths::BOOTKUBE, edited.as_bytes())?)
    }

    /// Paths, modes and contents.
    fn files(&self) -> Result<Vec<(String, u32, Vec<u8>)>, LayeringError> {
        let image = &self.known.facts.policy.images.installer;
        let launcher = LAUNCHER.replace("@IMAGE@", &quoted(image));
        let config = self.config()?;
        let text = config.write()?;
        let mut files = vec![(paths::LAUNCHER.to_owned(), 0o555, launcher.into_bytes())];
        if config.pools.iter().any(|pool| pool.location == BuildLocation::ControlPlane) {
            let path = format!("{MANIFESTS}/{}.yaml", paths::CLUSTER_CONFIG);
            files.push((path, 0o600, cluster_config(&text, image).to_string().into_bytes()));
        }
        files.push((paths::CONFIG.to_owned(), 0o600, text));
        for config in &self.user.configs {
            let text =
                serde_yaml_ng::to_string(&config.document).unwrap_or_else(|_| config.document.to_string());
            files.push((format!("{}/{}", paths::DIR, mosc_file(config.pool)), 0o600, text.into_bytes()));
        }
        for (name, secret) in &self.user.secrets {
            files.push((
                format!("{}/{name}.json", paths::SECRETS),
                0o600,
                secret.expose().as_bytes().to_vec(),
            ));
        }
        for ((folder, name), content) in &self.user.extra {
            files.push((format!("{}/{folder}/{name}", paths::EXTRA), 0o600, content.clone()));
        }
        let Some(embedded) = self.embedded else { return Ok(files) };
        let credentials = embedded.credentials;
        for (name, text) in [
            ("tls.crt", credentials.certificate.as_str()),
            ("tls.key", credentials.key.expose()),
            ("htpasswd", credentials.htpasswd.as_str()),
            ("config-ro.yaml", embedded.reader().as_str()),
            ("config-rw.yaml", embedded.writer().as_str()),
        ] {
            files.push((format!("{}/{name}", paths::REGISTRY), 0o600, text.as_bytes().to_vec()));
        }
        // The bootstrap host serves the registry itself.
        files.extend(embedded.trust(true).into_iter().map(|(path, text)| (path, 0o644, text.into_bytes())));
        Ok(files)
    }

    fn config(&self) -> Result<Config, LayeringError> {
        let (plan, known) = (self.plan, self.known);
        let cluster = &known.record.cluster;
        let own: &HostFacts = known
            .facts
            .hosts
            .iter()
            .find(|host| host.record.host.bootstrap)
            .ok_or(LayeringError::NoBootstrap)?;
        let bootstrap_ip = known.bootstrap_ip().and_then(|ip| ip.parse().ok());
        let bootstrap_ip = bootstrap_ip.ok_or_else(|| LayeringError::NoAddress(own.name()))?;
        let url = &known.facts.policy.service.service_base_url;
        if url.is_empty() {
            return Err(LayeringError::Faults(
                "SERVICE_BASE_URL is not set, so builders could not report: set it".to_owned(),
            ));
        }
        let registry = match self.embedded {
            Some(embedded) => Registry::Embedded {
                host: plan.name.clone(),
                port: embedded.port,
                namespace: config::NAMESPACE.to_owned(),
            },
            None => Registry::External {},
        };
        let build =
            |pool: Pool| PoolBuild { name: pool, mosc: mosc_file(pool), location: self.location(pool) };
        Ok(Config {
            version: config::VERSION,
            cluster_id: cluster.id,
            cluster: cluster.name.clone(),
            domain: cluster.base_dns_domain.clone(),
            release_version: cluster.openshift_version.clone(),
            arch: self.architecture(own),
            control_plane_count: u32::try_from(plan.masters.len()).unwrap_or(u32::MAX),
            registry,
            bootstrap_ip,
            master_ips: plan.masters.clone(),
            vips: plan.vips.clone(),
            images: config::Images {
                mco: self.images.mco.clone(),
                docker_registry: self.images.docker_registry.clone(),
            },
            pools: self.user.configs.iter().map(|config| build(config.pool)).collect(),
            bake_configs: plan.settings.bakes_configs(),
            scratch: match plan.settings.scratch() {
                AskedScratch::Auto => Scratch::Auto,
                AskedScratch::Disk => Scratch::Disk,
                AskedScratch::Memory => Scratch::Memory,
            },
            build_timeout_seconds: u64::from(plan.settings.build_timeout_minutes()) * 60,
            attempts: config::ATTEMPTS,
            proxy: self.proxy(),
            service: Service {
                url: url.clone(),
                infra_env_id: own.key().infra_env_id,
                host_id: own.record.host.id,
            },
        })
    }

    /// The image of the control plane is built where the cluster begins; that of workers there only if the user wants it, or if the
    /// service runs on that very host, where nobody in the cluster reaches it.
    fn location(&self, pool: Pool) -> BuildLocation {
        let on_service = self.known.facts.policy.service.install_invoker == "agent-installer";
        let asked = self.plan.settings.worker_build_location() == Asked::Bootstrap;
        if pool == Pool::Master || asked || on_service {
            BuildLocation::Bootstrap
        } else {
            BuildLocation::ControlPlane
        }
    }

    fn architecture(&self, own: &HostFacts) -> String {
        let reported = own
            .inventory
            .as_ref()
            .and_then(|inventory| inventory.cpu.as_ref())
            .map(|cpu| cpu.architecture.as_str());
        match reported.unwrap_or("x86_64") {
            "aarch64" | "arm64" => "arm64".to_owned(),
            other => other.to_owned(),
        }
    }

    /// The cluster's proxy, which is not for what is near.
    fn proxy(&self) -> Proxy {
        let cluster = &self.known.record.cluster;
        if cluster.http_proxy.is_empty() && cluster.https_proxy.is_empty() {
            return Proxy::default();
        }
        let near = [self.plan.name.clone(), "localhost".to_owned(), "127.0.0.1".to_owned()];
        let masters = self.plan.masters.iter().map(ToString::to_string);
        let own =
            cluster.no_proxy.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned);
        Proxy {
            http: cluster.http_proxy.clone(),
            https: cluster.https_proxy.clone(),
            no: own.chain(near).chain(masters).collect::<Vec<_>>().join(","),
        }
    }
}

/// What the controller in the cluster builds by; JSON is YAML. The text holds no secret.
fn cluster_config(text: &[u8], image: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": paths::CLUSTER_CONFIG, "namespace": paths::NAMESPACE},
        "data": {
            (paths::CLUSTER_CONFIG_TEXT): String::from_utf8_lossy(text),
            (paths::CLUSTER_CONFIG_IMAGE): image,
        },
    })
}

/// A word of a shell's, whatever it holds.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::generator::openshift::layering::extract::extract;
    use crate::generator::openshift::layering::testing::{
        config as machine_os_config, input, input_external, secret,
    };

    const SCRIPT: &str = "if [ ! -f mco-bootstrap.done ]; then\n    cp a/machineconfigoperator-bootstrap-pod.yaml /etc/kubernetes/manifests/\n    touch mco-bootstrap.done\nfi\n";

    fn tree(script: &str) -> Tree {
        let config = json!({
            "ignition": {"version": "3.2.0"},
            "storage": {"files": [{"path": paths::BOOTKUBE, "mode": 365, "contents": {"source": Resource::bytes(script).source}}]},
            "systemd": {"units": [{"name": "bootkube.service", "contents": "[Service]\n"}]},
        });
        Tree::read(config.to_string().as_bytes()).unwrap()
    }

    fn edited(known: &ClusterInput, script: &str) -> Result<Tree, LayeringError> {
        let plan = Plan::of(known, "2026-08-21T01:54:08Z".parse().unwrap())?.unwrap();
        let dir = tempfile::tempdir().unwrap();
        for folder in ["manifests", "openshift"] {
            std::fs::create_dir(dir.path().join(folder)).unwrap();
        }
        let all = [
            machine_os_config("master"),
            machine_os_config("worker"),
            secret("kubernetes.io/dockerconfigjson"),
        ];
        for (number, object) in all.iter().enumerate() {
            std::fs::write(
                dir.path().join(format!("manifests/{number}.yaml")),
                serde_yaml_ng::to_string(object).unwrap(),
            )
            .unwrap();
        }
        let user = extract(dir.path(), &known.facts, &plan.auths())?;
        let images = Images {
            mco: "quay.io/o/r@sha256:00".to_owned(),
            docker_registry: "quay.io/o/r@sha256:11".to_owned(),
        };
        let mut tree = tree(script);
        plan.edit_bootstrap(known, &images, &super::super::Extracted(user), &mut tree)?;
        Ok(tree)
    }

    fn files(tree: &Tree) -> BTreeMap<String, u64> {
        let entry =
            |file: &Value| (file["path"].as_str().unwrap().to_owned(), file["mode"].as_u64().unwrap());
        tree.files().iter().map(entry).collect()
    }

    #[test]
    fn what_the_bootstrap_host_gets() {
        let tree = edited(&input(), SCRIPT).unwrap();
        let files = files(&tree);
        for (path, mode) in [
            ("/opt/openshift/ocl/config.json", 0o600),
            ("/opt/openshift/ocl/mosc-master.yaml", 0o600),
            ("/opt/openshift/ocl/mosc-worker.yaml", 0o600),
            ("/opt/openshift/ocl/secrets/os-image-push.json", 0o600),
            ("/opt/openshift/ocl/registry/tls.crt", 0o600),
            ("/opt/openshift/ocl/registry/tls.key", 0o600),
            ("/opt/openshift/ocl/registry/htpasswd", 0o600),
            ("/opt/openshift/ocl/registry/config-ro.yaml", 0o600),
            ("/opt/openshift/ocl/registry/config-rw.yaml", 0o600),
            ("/etc/containers/registries.conf.d/50-ocl-registry.conf", 0o644),
            ("/etc/containers/certs.d/localhost:22626/ca.crt", 0o644),
            ("/etc/pki/ca-trust/source/anchors/ocl-registry-ca.crt", 0o644),
            ("/usr/local/bin/ocl-bootstrap", 0o555),
        ] {
            assert_eq!(files.get(path), Some(&mode), "{path}");
        }
        let script = String::from_utf8(tree.content(paths::BOOTKUBE).unwrap()).unwrap();
        assert_eq!(script.matches(paths::HOOK).count(), 1);
        let secret: Value =
            serde_json::from_slice(&tree.content("/opt/openshift/ocl/secrets/os-image-push.json").unwrap())
                .unwrap();
        assert!(
            secret["auths"]["localhost:22626"]["auth"].is_string(),
            "the embedded registry's credentials are in the secret"
        );
        let text = String::from_utf8(tree.write()).unwrap();
        for part in ["10-ocl.conf", "ConditionPathExists=!/opt/openshift/ocl/failed"] {
            assert!(text.contains(part), "{part}");
        }
        // The installer reports what the builder does.
        let config: Value = serde_json::from_str(&text).unwrap();
        let units: Vec<_> =
            config["systemd"]["units"].as_array().unwrap().iter().map(|unit| &unit["name"]).collect();
        assert_eq!(units, ["bootkube.service"]);
        let launcher = String::from_utf8(tree.content(paths::LAUNCHER).unwrap()).unwrap();
        assert!(launcher.contains("image='quay.io/assisted/assisted-installer:latest'"), "{launcher}");
    }

    #[test]
    fn what_the_builder_is_told() {
        let tree = edited(&input(), SCRIPT).unwrap();
        let config = Config::read(&tree.content(paths::CONFIG).unwrap()).unwrap();
        assert_eq!(
            config.repository(Pool::Master).unwrap(),
            "api-int.lab.example.com:22626/ocl/os-image-master"
        );
        assert_eq!(config.master_ips.len(), 3);
        assert_eq!((config.build_timeout_seconds, config.attempts), (5400, 4));
        let locations: Vec<_> = config.pools.iter().map(|pool| (pool.name, pool.location)).collect();
        assert_eq!(
            locations,
            [(Pool::Master, BuildLocation::Bootstrap), (Pool::Worker, BuildLocation::ControlPlane)]
        );
        assert_eq!(config.images.mco, "quay.io/o/r@sha256:00");
        // The controller is told the same.
        let object: Value =
            serde_json::from_slice(&tree.content("/opt/openshift/manifests/ocl-build-config.yaml").unwrap())
                .unwrap();
        assert_eq!(object["metadata"]["namespace"], "assisted-installer");
        assert_eq!(object["data"]["image"], "quay.io/assisted/assisted-installer:latest");
        let told = Config::read(object["data"]["config.json"].as_str().unwrap().as_bytes()).unwrap();
        assert_eq!(told, config);
        let tree = edited(&input_external(), SCRIPT).unwrap();
        let config = Config::read(&tree.content(paths::CONFIG).unwrap()).unwrap();
        assert_eq!(config.registry, Registry::External {});
        assert!(
            !files(&tree)
                .keys()
                .any(|path| path.starts_with("/opt/openshift/ocl/registry") || path.contains("certs.d"))
        );
    }

    #[test]
    fn nothing_is_built_in_the_cluster_where_the_bootstrap_host_does_all() {
        let mut known = input();
        let asked =
            json!({"onClusterLayering": {"mode": "Enabled", "workerBuildLocation": "Bootstrap"}}).to_string();
        known.record.cluster.install_config_overrides.clone_from(&asked);
        if let Some(record) = &mut known.facts.cluster {
            record.cluster.install_config_overrides = asked;
        }
        let tree = edited(&known, SCRIPT).unwrap();
        assert!(tree.content("/opt/openshift/manifests/ocl-build-config.yaml").is_none());
    }

    #[test]
    fn a_script_of_another_shape_is_refused() {
        let told = edited(&input(), "echo\n").err().unwrap().to_string();
        assert_eq!(told, "bootkube.sh of release 4.21.3 is not supported for on-cluster layering");
    }
}
