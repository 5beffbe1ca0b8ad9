//! The Deployment of the service, with PostgreSQL beside it where there is a volume for it.

use serde_json::{Value, json};

use super::settings::{INGRESS_DIR, TLS_DIR};
use super::storage::{claim_name, is_given};
use super::{Input, annotation_of, database, ingress, keys, labelled, object, pod, route};
use crate::operator::conditions::{ReconcileError, reasons};
use crate::operator::{
    FILES_CLAIM, INGRESS_AUTHORITIES, KEYS_SECRET, SEAL_SECRET, SERVICE, SETTINGS, TRUSTED_AUTHORITIES,
    annotation,
};

/// Where container tools look for authorities and mirrors.
const TRUSTED: &str = "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem";
const MIRROR_AUTHORITIES: &str = "/etc/pki/ca-trust/extracted/pem/user-registry-ca-bundle.pem";

/// Where the keys are that seal.
const SEAL_DIR: &str = "/etc/assisted/seal";

/// A volume, and where it is in the service's container.
struct Mount {
    name: &'static str,
    source: Value,
    path: &'static str,
    /// One file of it alone.
    file: Option<&'static str>,
}

pub(super) fn deployment(
    input: &Input<'_>,
    settings: &Value,
    trusted: Option<&Value>,
) -> Result<Value, ReconcileError> {
    let mounts = mounts(input)?;
    let mut volumes: Vec<_> = mounts
        .iter()
        .map(|mount| {
            let mut volume = mount.source.clone();
            volume["name"] = mount.name.into();
            volume
        })
        .collect();
    let mut names = std::collections::BTreeSet::new();
    volumes.retain(|volume| names.insert(volume["name"].as_str().map(str::to_owned)));
    volumes.extend(database::volume(input));
    let mut container = container(input, &mounts);
    if let Some(hosted) = input.hosted {
        let [volume, mount, variable] = super::kubeconfig_of(hosted);
        volumes.push(volume);
        for (list, value) in [("volumeMounts", mount), ("env", variable)] {
            container[list].as_array_mut().into_iter().for_each(|all| all.push(value.clone()));
        }
    }

    let mut containers = vec![pod::confined(container)];
    containers.extend(database::container(input).map(pod::confined));
    let mut template =
        pod::template(input, SERVICE, &input.environment.service_account, &containers, &volumes);
    let members = settings["data"].as_object().into_iter().flatten();
    let trusted = trusted.and_then(|map| map["data"].as_object()).into_iter().flatten();
    let members = members.chain(trusted).filter_map(|(name, value)| Some((name, value.as_str()?.as_bytes())));
    pod::annotate(&mut template, "config-hash", &pod::hash(members));
    if let Some(hosted) = input.hosted {
        pod::annotate(&mut template, "kubeconfig-hash", &hosted.hash);
    }
    let texts = |data: &Option<std::collections::BTreeMap<String, String>>| {
        pod::hash(data.iter().flatten().map(|(name, value)| (name, value.as_bytes())))
    };
    pod::annotate(&mut template, "mirror-hash", &texts(&input.facts.mirror));
    pod::annotate(&mut template, "user-config-hash", &texts(&input.facts.settings));

    let mut deployment = labelled(object(input, "apps/v1", "Deployment", SERVICE), "app", SERVICE);
    deployment["spec"] = json!({
        "replicas": 1,
        "strategy": {"type": "Recreate", "rollingUpdate": null},
        "selector": {"matchLabels": {"app": SERVICE}},
        "template": template,
    });
    Ok(deployment)
}

fn container(input: &Input<'_>, mounts: &[Mount]) -> Value {
    let mut env = database::variables(input);
    let secret = keys::secret_name(input, KEYS_SECRET);
    for (variable, key) in
        [("EC_PUBLIC_KEY_PEM", "ec-public-key.pem"), ("EC_PRIVATE_KEY_PEM", "ec-private-key.pem")]
    {
        env.push(json!({"name": variable, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}));
    }
    env.push(pod::variable("SEAL_KEY_FILE", &format!("{SEAL_DIR}/{}", keys::SEAL_FILE)));
    env.push(json!({"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}));
    let insecure = route::is_insecure(input) && input.facts.is_openshift;
    if insecure {
        env.push(pod::variable("HTTP_LISTEN_PORT", "8091"));
    }
    let mut env_from = vec![json!({"configMapRef": {"name": SETTINGS}})];
    let more = annotation_of(input.config, annotation::SETTINGS);
    if !more.is_empty() {
        env_from.push(json!({"configMapRef": {"name": more}}));
    }
    let volume_mounts = mounts.iter().map(|mount| {
        let mut volume = json!({"name": mount.name, "mountPath": mount.path});
        if let Some(file) = mount.file {
            volume["subPath"] = file.into();
        }
        volume
    });
    let is_https = input.facts.is_openshift;
    json!({
        "name": SERVICE,
        "image": pod::service_image(input),
        "command": ["assisted", "serve"],
        "ports": [
            {"name": "api", "containerPort": 8090, "protocol": "TCP"},
            {"name": "http", "containerPort": 8091, "protocol": "TCP"},
        ],
        "envFrom": env_from,
        "env": env,
        "resources": {"requests": {"cpu": "200m", "memory": "512Mi"}},
        "livenessProbe": pod::probe("/health", 8090, is_https, 30),
        "readinessProbe": pod::probe("/ready", 8090, is_https, 0),
        "volumeMounts": volume_mounts.collect::<Vec<_>>(),
    })
}

fn mounts(input: &Input<'_>) -> Result<Vec<Mount>, ReconcileError> {
    let facts = input.facts;
    let config_map = |name: &str| json!({"configMap": {"name": name}});
    let secret = |name: &str| json!({"secret": {"secretName": name}});
    let files = if is_given(&input.config.spec.filesystem_storage) {
        json!({"persistentVolumeClaim": {"claimName": claim_name(input.config, FILES_CLAIM)}})
    } else {
        json!({"emptyDir": {}})
    };
    let mut mounts = vec![Mount { name: "bucket-filesystem", source: files, path: "/data", file: None }];
    let name = keys::secret_name(input, SEAL_SECRET);
    let source = json!({"secret": {"secretName": name, "defaultMode": 0o440}});
    mounts.push(Mount { name: "seal-keys", source, path: SEAL_DIR, file: None });
    let authorities = if facts.is_openshift {
        config_map(INGRESS_AUTHORITIES)
    } else {
        // Hosts are told the authorities; the key is for the ingress alone.
        let name = ingress::secret_name(SERVICE);
        json!({"secret": {"secretName": name, "items": [{"key": "ca.crt", "path": "ca.crt"}]}})
    };
    if facts.is_openshift || ingress::has_authorities(input) {
        mounts.push(Mount { name: "ingress-cert", source: authorities, path: INGRESS_DIR, file: None });
    }
    if facts.is_openshift {
        mounts.push(Mount { name: "tls-certs", source: secret(SERVICE), path: TLS_DIR, file: None });
        let source = config_map(TRUSTED_AUTHORITIES);
        mounts.push(Mount { name: "trusted-ca-certs", source, path: TRUSTED, file: Some("ca-bundle.crt") });
    }
    let Some(reference) = &input.config.spec.mirror_registry_ref else { return Ok(mounts) };
    let name = &reference.name;
    let data = facts.mirror.as_ref().ok_or_else(|| {
        ReconcileError::new(reasons::CONFIG, format!("Mirror registry configmap {name} is missing"))
    })?;
    let source = config_map(name);
    mounts.push(Mount {
        name: "mirror-registry",
        source: source.clone(),
        path: "/etc/containers/registries.conf",
        file: Some("registries.conf"),
    });
    if data.contains_key("ca-bundle.crt") {
        mounts.push(Mount {
            name: "mirror-registry",
            source,
            path: MIRROR_AUTHORITIES,
            file: Some("ca-bundle.crt"),
        });
    }
    Ok(mounts)
}
