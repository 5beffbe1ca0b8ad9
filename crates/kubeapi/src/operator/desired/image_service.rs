//! The StatefulSet of the image service, and its account.

use serde_json::{Value, json};

use super::storage::claim_name;
use super::{Input, annotation_of, labelled, object, pod, settings};
use crate::operator::conditions::ReconcileError;
use crate::operator::{IMAGE_SERVICE, IMAGES_CLAIM, SERVICE, annotation};

const CERTS: &str = "/etc/image-service/certs";
const AUTHORITIES: &str = "/etc/image-service/ca-bundle";
const OS_IMAGE_AUTHORITIES: &str = "/etc/image-service/os-images-ca-bundle";

/// It asks the API for nothing.
pub(super) fn account(input: &Input<'_>) -> Value {
    let mut account = object(input, "v1", "ServiceAccount", IMAGE_SERVICE);
    account["automountServiceAccountToken"] = false.into();
    account
}

pub(super) fn stateful_set(input: &Input<'_>) -> Result<Value, ReconcileError> {
    let config = input.config;
    let claim = claim_name(config, IMAGES_CLAIM);
    let facts = input.facts;
    let mut volumes = vec![json!({"name": "image-service-temp", "emptyDir": {}})];
    let mut mounts = vec![
        json!({"name": claim, "mountPath": "/data"}),
        json!({"name": "image-service-temp", "mountPath": "/data_temp"}),
    ];
    let mut mount = |name: &str, source: Value, path: &str| {
        let mut volume = source;
        volume["name"] = name.into();
        volumes.push(volume);
        mounts.push(json!({"name": name, "mountPath": path}));
    };
    let namespace = &input.environment.namespace;
    let mut env = vec![
        ("LISTEN_PORT", "8080".to_owned()),
        ("OS_IMAGES", settings::os_images(input)),
        ("ASSISTED_SERVICE_HOST", format!("{SERVICE}.{namespace}.svc:8090")),
        ("ASSISTED_SERVICE_SCHEME", if facts.is_openshift { "https" } else { "http" }.to_owned()),
        ("IMAGE_SERVICE_BASE_URL", format!("https://{}", settings::host(input, IMAGE_SERVICE)?)),
        ("DATA_DIR", "/data".to_owned()),
        (
            "INSECURE_SKIP_VERIFY",
            match annotation_of(config, annotation::SKIP_VERIFY_TLS) {
                "true" => "true".to_owned(),
                _ => "false".to_owned(),
            },
        ),
    ];
    if facts.is_openshift {
        mount("tls-certs", json!({"secret": {"secretName": IMAGE_SERVICE}}), CERTS);
        mount("service-cabundle", json!({"configMap": {"name": IMAGE_SERVICE}}), AUTHORITIES);
        env.extend([
            ("HTTPS_CERT_FILE", format!("{CERTS}/tls.crt")),
            ("HTTPS_KEY_FILE", format!("{CERTS}/tls.key")),
            ("HTTPS_CA_FILE", format!("{AUTHORITIES}/service-ca.crt")),
            ("HTTP_LISTEN_PORT", "8081".to_owned()),
            ("TLS_MIN_VERSION", facts.tls.min_version.clone()),
        ]);
    }
    let mut hashes = vec![
        ("os-images-ca-hash", String::new()),
        ("os-images-additional-params-config-hash", String::new()),
    ];
    if let (Some((file, text)), Some(reference)) =
        (&facts.os_image_authorities, &config.spec.os_image_ca_cert_ref)
    {
        mount("os-images-ca", json!({"configMap": {"name": reference.name}}), OS_IMAGE_AUTHORITIES);
        env.push(("OS_IMAGE_DOWNLOAD_TRUSTED_CA_FILE", format!("{OS_IMAGE_AUTHORITIES}/{file}")));
        hashes[0].1 = pod::hash([(file, text.as_bytes())]);
    }
    env.extend(pod::proxies(input));
    env.retain(|(_, value)| !value.is_empty());
    let mut env: Vec<_> = env.iter().map(|(name, value)| pod::variable(name, value)).collect();
    if let (Some(params), Some(reference)) =
        (&facts.os_image_params, &config.spec.os_image_additional_params_ref)
    {
        for (member, variable) in
            [("headers", "OS_IMAGES_REQUEST_HEADERS"), ("query_params", "OS_IMAGES_REQUEST_QUERY_PARAMS")]
        {
            if params.contains_key(member) {
                let source = json!({"secretKeyRef": {"name": reference.name, "key": member}});
                env.push(json!({"name": variable, "valueFrom": source}));
            }
        }
        hashes[1].1 = pod::hash(params.iter().map(|(name, value)| (name, value.expose().as_bytes())));
    }
    if config.spec.image_storage.is_none() {
        volumes.push(json!({"name": claim, "emptyDir": {}}));
    }
    let image = &input.environment.image_service_image;
    let container = pod::confined(json!({
        "name": IMAGE_SERVICE,
        "image": if image.is_empty() { pod::service_image(input) } else { image.clone() },
        "command": ["assisted", "image-service"],
        "ports": [
            {"name": "images", "containerPort": 8080, "protocol": "TCP"},
            {"name": "http", "containerPort": 8081, "protocol": "TCP"},
        ],
        "env": env,
        "resources": {"requests": {"cpu": "100m", "memory": "400Mi"}},
        "livenessProbe": pod::probe("/live", 8080, facts.is_openshift, 30),
        "readinessProbe": pod::probe("/health", 8080, facts.is_openshift, 0),
        "volumeMounts": mounts,
    }));
    let mut template = pod::template(input, IMAGE_SERVICE, IMAGE_SERVICE, &[container], &volumes);
    for (name, hash) in hashes {
        pod::annotate(&mut template, name, &hash);
    }
    let mut set = labelled(object(input, "apps/v1", "StatefulSet", IMAGE_SERVICE), "app", IMAGE_SERVICE);
    set["spec"] = json!({
        "serviceName": IMAGE_SERVICE,
        "podManagementPolicy": "Parallel",
        "replicas": 1,
        // What it keeps can be fetched again: its volume goes with it.
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"},
        "selector": {"matchLabels": {"app": IMAGE_SERVICE}},
        "template": template,
    });
    if let Some(storage) = &config.spec.image_storage {
        set["spec"]["volumeClaimTemplates"] = json!([{
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": claim, "labels": {"app": IMAGE_SERVICE}},
            "spec": storage,
        }]);
    }
    Ok(set)
}
