//! What is released for `clusterctl`: each provider's components, and which contract of Cluster API they are made for
//! (capi-providers §2, §18).
//!
//! Everything is made from the code: definitions, rights, webhooks. `${…}` is what whoever installs them says to clusterctl.

use assisted_crd::cluster_api::labels::{BOOTSTRAP_GROUP, CONTROL_PLANE_GROUP};
use assisted_crd::definition;
use assisted_kubeapi::rbac::{Role, manifest};
use assisted_kubeapi::webhook_server::target::Target;
use serde_json::{Value, json};

use crate::rbac;
use crate::webhook::{self, Webhooks, configurations, conversion};

/// The files of a provider, as clusterctl looks for them.
#[derive(Clone, Copy, Debug)]
pub struct Components {
    /// The folder that clusterctl expects.
    pub folder: &'static str,
    pub file: &'static str,
    group: &'static str,
    command: &'static str,
    role: &'static Role,
    webhooks: &'static Webhooks,
    namespace: &'static str,
    /// Variables of the process that can be set, with what they are otherwise.
    variables: &'static [(&'static str, &'static str)],
}

/// Those of all providers.
pub const ALL: [Components; 2] = [
    Components {
        folder: "bootstrap-openshift-assisted",
        file: "bootstrap-components.yaml",
        group: BOOTSTRAP_GROUP,
        command: "bootstrap",
        role: &rbac::BOOTSTRAP,
        webhooks: &webhook::BOOTSTRAP,
        namespace: "assisted-capi-bootstrap-system",
        variables: &[
            ("ASSISTED_URL", ""),
            ("ASSISTED_TOKEN_FILE", ""),
            ("ASSISTED_CA_FILE", ""),
            ("USE_INTERNAL_IMAGE_URL", "false"),
            ("ASSISTED_SERVICE_NAME", "assisted-service"),
            ("ASSISTED_SERVICE_SCHEME", "http"),
            ("ASSISTED_SERVICE_PORT", "8090"),
            ("LOG_LEVEL", "info"),
        ],
    },
    Components {
        folder: "control-plane-openshift-assisted",
        file: "control-plane-components.yaml",
        group: CONTROL_PLANE_GROUP,
        command: "controlplane",
        role: &rbac::CONTROL_PLANE,
        webhooks: &webhook::CONTROL_PLANE,
        namespace: "assisted-capi-control-plane-system",
        variables: &[
            ("ASSISTED_URL", ""),
            ("ASSISTED_TOKEN_FILE", ""),
            ("ASSISTED_CA_FILE", ""),
            ("LOG_LEVEL", "info"),
        ],
    },
];

/// Port on which webhooks listen in the pod.
const PORT: u16 = 9443;

/// What stands above each file.
const MADE: &str = "# Made from the code: `cargo xtask bless -p assisted-capi` writes it anew.\n";

/// Which contract of Cluster API the releases of a series are made for; a series names one. The components fit the older one, too, but cores
/// that know only that don't serve the Clusters and Machines that the providers read (docs/adr/0024).
pub fn metadata(version: &str) -> String {
    let mut numbers = version.split('.');
    let mut next = || numbers.next().unwrap_or("0").to_owned();
    let (major, minor) = (next(), next());
    format!(
        "{MADE}apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n\
         - major: {major}\n  minor: {minor}\n  contract: v1beta2\n"
    )
}

/// Values stay texts, whatever is said: YAML would read `8090` as a number.
fn quoted(text: &str) -> String {
    let line = |line: &str| match line.split_once("value: ${") {
        // Without these quotes clusterctl refuses to go on until somebody sets the variable.
        Some((begin, rest)) if rest.ends_with(":=}") => {
            format!("{begin}value: ${{{}\"\"}}\n", rest.trim_end_matches('}'))
        }
        Some((begin, rest)) => format!("{begin}value: \"${{{rest}\"\n"),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

impl Components {
    /// The whole file.
    ///
    /// # Errors
    /// A definition can't be written.
    pub fn yaml(&self) -> Result<String, serde_yaml_ng::Error> {
        let mut text = MADE.to_owned();
        let mut add = |object: &Value| {
            text.push_str("---\n");
            text.push_str(&serde_yaml_ng::to_string(object)?);
            Ok::<_, serde_yaml_ng::Error>(())
        };
        add(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}))?;
        let target = Target::service(self.namespace, &self.service_name());
        for definition in definition::OURS {
            let mut definition: Value = serde_yaml_ng::from_str(definition)?;
            if definition["spec"]["group"] == self.group {
                // A kind of one version has nothing to convert.
                if self.webhooks.definitions.iter().any(|name| definition["metadata"]["name"] == *name) {
                    definition["spec"]["conversion"] = json!(conversion(&target, None));
                }
                add(&definition)?;
            }
        }
        add(&self.service())?;
        add(&self.deployment())?;
        let (validating, mutating) = configurations(self.webhooks, &target, None);
        let configurations = [validating.map(|found| json!(found)), mutating.map(|found| json!(found))];
        configurations.iter().flatten().try_for_each(&mut add)?;
        let rights = manifest(self.role, self.namespace);
        text.push_str("---\n");
        text.push_str(rights.split_once('\n').map_or(rights.as_str(), |(_, rest)| rest));
        Ok(quoted(&text))
    }

    fn service_name(&self) -> String {
        format!("{}-webhook", self.role.account)
    }

    fn service(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": self.service_name(), "namespace": self.namespace},
            "spec": {
                "selector": {"app": self.role.account},
                "ports": [{"name": "webhook", "port": 443, "targetPort": "webhook", "protocol": "TCP"}],
            },
        })
    }

    fn deployment(&self) -> Value {
        let labels = json!({"app": self.role.account});
        let mut env = vec![
            json!({"name": "NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}),
        ];
        env.extend(
            self.variables
                .iter()
                .map(|(name, otherwise)| json!({"name": name, "value": format!("${{{name}:={otherwise}}}")})),
        );
        let probe = json!({"httpGet": {"path": "/healthz", "port": "webhook", "scheme": "HTTPS"}});
        let container = json!({
            "name": "manager",
            // A release puts its own in this place, and clusterctl that of its settings. It reads it before it puts in variables.
            "image": "quay.io/assisted/assisted:latest",
            "command": ["assisted", "capi", self.command],
            "args": [format!("--webhook-service={}", self.service_name())],
            "env": env,
            // Token and authority of a service that is worked with alone.
            "volumeMounts": [{"name": "service", "mountPath": "/etc/assisted", "readOnly": true}],
            "ports": [{"name": "webhook", "containerPort": PORT, "protocol": "TCP"}],
            "livenessProbe": probe, "readinessProbe": probe,
            "resources": {"requests": {"cpu": "10m", "memory": "40Mi"}, "limits": {"memory": "256Mi"}},
            "securityContext": {
                "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]},
            },
        });
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": self.role.account, "namespace": self.namespace, "labels": labels},
            "spec": {
                // One leads; both answer webhooks.
                "replicas": 2,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        "serviceAccountName": self.role.account,
                        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
                        "containers": [container],
                        "volumes": [{"name": "service", "secret": {"secretName": "assisted-service", "optional": true}}],
                        "terminationGracePeriodSeconds": 30,
                    },
                },
            },
        })
    }
}
