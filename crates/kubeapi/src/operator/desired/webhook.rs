//! The webhooks: their Deployment, their service, and the configurations by which the API server asks them.

use assisted_crd::condition::Outcome;
use serde_json::{Value, json};

use super::{Input, annotated, cluster_object, labelled, network_policy, object, pod, service};
use crate::admission::configuration::{Configuration, Target, configurations};
use crate::operator::WEBHOOK;
use crate::operator::conditions::reasons;

const CERTS: &str = "/var/serving-cert";

pub(super) fn objects(input: &Input<'_>) -> Vec<(&'static str, Outcome, Value)> {
    let mut objects = vec![
        ("WebHookService", reasons::WEB_HOOK_SERVICE, service::webhook(input)),
        ("WebHookNetworkPolicy", reasons::NETWORK_POLICY, network_policy::webhook(input)),
        ("WebHookServiceDeployment", reasons::WEB_HOOK_DEPLOYMENT, deployment(input)),
    ];
    // Those of a hosted cluster are made there, by the webhooks themselves.
    if input.hosted.is_some() {
        return objects;
    }
    // Last, so that nothing is asked that is not there yet.
    let target = Target::service(&input.environment.namespace, WEBHOOK);
    for configuration in configurations(&target, None) {
        let (failure, kind, value) = match &configuration {
            Configuration::Validating(object) => {
                (reasons::VALIDATING_WEB_HOOK, "ValidatingWebhookConfiguration", json!(object))
            }
            Configuration::Mutating(object) => {
                (reasons::MUTATING_WEB_HOOK, "MutatingWebhookConfiguration", json!(object))
            }
        };
        let own = value["metadata"]["name"].as_str().unwrap_or_default();
        let mut object = cluster_object(input, "admissionregistration.k8s.io/v1", kind, own);
        object["webhooks"] = value["webhooks"].clone();
        object = labelled(object, "app", WEBHOOK);
        if input.facts.is_openshift {
            object = annotated(object, "service.beta.openshift.io/inject-cabundle", "true");
        }
        objects.push((component(own), failure, object));
    }
    objects
}

/// Under which name a condition tells of a configuration.
fn component(name: &str) -> &'static str {
    match name.split('.').next() {
        Some("agentclusterinstallmutators") => "AgentClusterInstallMutatingWebHook",
        Some("agentclusterinstallvalidators") => "AgentClusterInstallValidatingWebHook",
        Some("infraenvvalidators") => "InfraEnvValidatingWebHook",
        Some("agentvalidators") => "AgentValidatingWebHook",
        _ => "AgentClassificationValidatingWebHook",
    }
}

fn deployment(input: &Input<'_>) -> Value {
    let facts = input.facts;
    let (mut args, mut volumes, mut mounts) = (Vec::new(), Vec::new(), Vec::new());
    let mut env =
        vec![json!({"name": "NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}})];
    if let Some(hosted) = input.hosted {
        // The control plane runs beside them, and asks what it is told by an address without a detour through its cluster's network. No
        // certificate of the hub's is known to it.
        args.push(format!("--webhook-url=https://{WEBHOOK}.{}.svc", input.environment.namespace));
        args.push(format!("--tls-min-version={}", facts.tls.min_version));
        let [volume, mount, variable] = super::kubeconfig_of(hosted);
        volumes.push(volume);
        mounts.push(mount);
        env.push(variable);
    } else if facts.is_openshift {
        args.push(format!("--tls-cert-file={CERTS}/tls.crt"));
        args.push(format!("--tls-private-key-file={CERTS}/tls.key"));
        args.push(format!("--tls-min-version={}", facts.tls.min_version));
        if !facts.tls.cipher_suites.is_empty() {
            args.push(format!("--tls-cipher-suites={}", facts.tls.cipher_suites.join(",")));
        }
        volumes.push(json!({"name": "serving-cert", "secret": {"secretName": WEBHOOK}}));
        mounts.push(json!({"name": "serving-cert", "mountPath": CERTS}));
    } else {
        args.push("--configurations=bundle".to_owned());
    }
    let container = pod::confined(json!({
        "name": WEBHOOK,
        "image": pod::service_image(input),
        "command": ["assisted", "webhook"],
        "args": args,
        "ports": [{"name": "https", "containerPort": 9443, "protocol": "TCP"}],
        "env": env,
        "resources": {"requests": {"cpu": "50m", "memory": "40Mi"}},
        "readinessProbe": pod::probe("/healthz", 9443, true, 0),
        "volumeMounts": mounts,
    }));
    let mut template = pod::template(input, WEBHOOK, WEBHOOK, &[container], &volumes);
    template["metadata"]["labels"][WEBHOOK] = "true".into();
    if let Some(hosted) = input.hosted {
        pod::annotate(&mut template, "kubeconfig-hash", &hosted.hash);
    }
    let mut deployment = labelled(object(input, "apps/v1", "Deployment", WEBHOOK), "app", WEBHOOK);
    deployment["spec"] = json!({
        "replicas": 2,
        "selector": {"matchLabels": {"app": WEBHOOK, WEBHOOK: "true"}},
        "template": template,
    });
    deployment
}
