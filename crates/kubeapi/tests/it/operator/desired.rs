//! The objects: which there are, what they say, and what they are not.

use std::collections::{BTreeMap, BTreeSet};

use assisted_kubeapi::operator::desired::{Hosted, Input};
use assisted_kubeapi::operator::facts::{DatabaseAccess, Facts, IngressCertificate, Keys};
use serde_json::{Value, json};

use super::{NAMESPACE, bare, config, environment, find, fresh, kubernetes, make, names, openshift};

const WEBHOOKS: [&str; 5] = [
    "MutatingWebhookConfiguration/agentclusterinstallmutators.admission.agentinstall.openshift.io",
    "ValidatingWebhookConfiguration/agentclusterinstallvalidators.admission.agentinstall.openshift.io",
    "ValidatingWebhookConfiguration/infraenvvalidators.admission.agentinstall.openshift.io",
    "ValidatingWebhookConfiguration/agentvalidators.admission.agentinstall.openshift.io",
    "ValidatingWebhookConfiguration/agentclassificationvalidators.admission.agentinstall.openshift.io",
];

#[test]
fn on_openshift() {
    let desired = make(&config(&json!({})), &openshift()).unwrap();
    assert!(desired.pending.is_none() && desired.renew_at.is_none());
    let mut expected = vec![
        "PersistentVolumeClaim/assisted-service",
        "PersistentVolumeClaim/postgres",
        "Service/assisted-service",
        "NetworkPolicy/assisted-service",
        "Secret/assisted-servicelocal-auth",
        "Secret/postgres",
        "Secret/assisted-service-seal-keys",
        "Service/assisted-image-service",
        "NetworkPolicy/assisted-image-service",
        "ServiceAccount/assisted-image-service",
        "Route/assisted-service",
        "Route/assisted-image-service",
        "ConfigMap/default-ingress-cert",
        "ConfigMap/cluster-trusted-ca-bundle",
        "ConfigMap/assisted-image-service",
        "ServiceMonitor/assisted-service",
        "Service/agentinstalladmission",
        "NetworkPolicy/agentinstalladmission",
        "Deployment/agentinstalladmission",
    ];
    expected.extend(WEBHOOKS);
    expected.extend([
        "ConfigMap/assisted-trusted-ca-bundle",
        "ConfigMap/assisted-service",
        "Deployment/assisted-service",
        "StatefulSet/assisted-image-service",
    ]);
    assert_eq!(names(&desired), expected);
}

#[test]
fn on_another_cluster_without_volumes() {
    let desired = make(&bare(&json!({})), &kubernetes()).unwrap();
    assert!(desired.pending.is_none() && desired.renew_at.is_some());
    let mut expected = vec![
        "Service/assisted-service",
        "NetworkPolicy/assisted-service",
        "Secret/assisted-servicelocal-auth",
        "Secret/assisted-service-seal-keys",
        "Service/assisted-image-service",
        "NetworkPolicy/assisted-image-service",
        "ServiceAccount/assisted-image-service",
        "Secret/assisted-service-ingress",
        "Secret/assisted-image-service-ingress",
        "Ingress/assisted-service",
        "Ingress/assisted-image-service",
        "Service/agentinstalladmission",
        "NetworkPolicy/agentinstalladmission",
        "Deployment/agentinstalladmission",
    ];
    expected.extend(WEBHOOKS);
    expected.extend([
        "ConfigMap/assisted-service",
        "Deployment/assisted-service",
        "StatefulSet/assisted-image-service",
    ]);
    assert_eq!(names(&desired), expected);
    let pod = &find(&desired, "Deployment", "assisted-service").unwrap()["spec"]["template"]["spec"];
    assert_eq!(pod["containers"].as_array().unwrap().len(), 1);
    assert_eq!(pod["volumes"][0], json!({"name": "bucket-filesystem", "emptyDir": {}}));
    let env = pod["containers"][0]["env"].as_array().unwrap();
    assert!(env.iter().all(|variable| variable["name"] != "DB_HOST"), "the service keeps its own database");
}

#[test]
fn each_object_is_owned_and_marked() {
    for (config, facts) in [(config(&json!({})), openshift()), (bare(&json!({})), kubernetes())] {
        for component in make(&config, &facts).unwrap().components {
            let metadata = &component.object["metadata"];
            assert_eq!(metadata["labels"]["app.kubernetes.io/managed-by"], "assisted-operator", "{metadata}");
            let owner = json!([{"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "AgentServiceConfig", "name": "agent",
                "uid": config.metadata.uid, "controller": true, "blockOwnerDeletion": true}]);
            assert_eq!(metadata["ownerReferences"], owner, "{metadata}");
            let in_namespace = !component.object["kind"].as_str().unwrap().ends_with("WebhookConfiguration");
            assert_eq!(metadata["namespace"] == NAMESPACE, in_namespace, "{metadata}");
        }
    }
}

#[test]
fn each_object_tells_its_failure() {
    let config = config(&json!({"spec": {"iPXEHTTPRoute": "enabled"}}));
    let hosted = Hosted { secret: "hosted".to_owned(), hash: "1".to_owned(), port: Some(6443) };
    let (environment, fresh) = (environment(), fresh());
    let mut told = BTreeSet::new();
    for (facts, hosted) in [(openshift(), None), (kubernetes(), None), (kubernetes(), Some(&hosted))] {
        let input =
            Input { config: &config, environment: &environment, facts: &facts, fresh: &fresh, hosted };
        for component in assisted_kubeapi::operator::desired::desired(&input).unwrap().components {
            let failure = component.failure;
            assert_eq!((failure.r#type, failure.status), ("ReconcileCompleted", "False"));
            told.insert((failure.reason, component.name));
        }
    }
    let expected = BTreeSet::from([
        ("AgentLocalAuthSecretFailure", "AgentLocalAuthSecret"),
        ("AgentRouteFailure", "AgentIPXERoute"),
        ("AgentRouteFailure", "AgentRoute"),
        ("AgentServiceFailure", "AgentService"),
        ("AgentServiceMonitorFailure", "ServiceMonitor"),
        ("CertificateConfigurationFailure", "CACert"),
        ("ConfigFailure", "AssistedServiceConfigMap"),
        ("ConfigFailure", "AssistedTrustedCAConfigMap"),
        ("ConfigFailure", "ClusterTrustedCAConfigMap"),
        ("ConfigFailure", "ImageServiceConfigMap"),
        ("DeploymentFailure", "AssistedServiceDeployment"),
        ("ImageHandlerRouteFailure", "ImageServiceIPXERoute"),
        ("ImageHandlerRouteFailure", "ImageServiceRoute"),
        ("ImageHandlerServiceAccountFailure", "ImageServiceServiceAccount"),
        ("ImageHandlerServiceFailure", "ImageServiceService"),
        ("ImageHandlerStatefulSetFailure", "ImageServiceStatefulSet"),
        ("IngressCertFailure", "IngressCertConfigMap"),
        ("MutatingWebHookFailure", "AgentClusterInstallMutatingWebHook"),
        ("NetworkPolicyFailure", "AgentServiceNetworkPolicy"),
        ("NetworkPolicyFailure", "ImageServiceNetworkPolicy"),
        ("NetworkPolicyFailure", "WebHookNetworkPolicy"),
        ("PostgresSecretFailure", "DatabaseSecret"),
        ("ReasonWebHookDeploymentFailure", "WebHookServiceDeployment"),
        ("ReasonWebHookServiceAccountFailure", "WebHookServiceAccount"),
        ("ReasonWebHookServiceFailure", "WebHookService"),
        ("SealKeysSecretFailure", "SealKeysSecret"),
        ("ServiceServiceAccount", "ServiceServiceAccount"),
        ("StorageFailure", "DatabaseStorage"),
        ("StorageFailure", "FilesystemStorage"),
        ("ValidatingWebHookFailure", "AgentClassificationValidatingWebHook"),
        ("ValidatingWebHookFailure", "AgentClusterInstallValidatingWebHook"),
        ("ValidatingWebHookFailure", "AgentValidatingWebHook"),
        ("ValidatingWebHookFailure", "InfraEnvValidatingWebHook"),
    ]);
    assert_eq!(told, expected);
}

#[test]
fn what_is_not_known_yet_is_waited_for() {
    let config = config(&json!({}));
    for (facts, told) in [
        (
            Facts { route_hosts: BTreeMap::new(), ..openshift() },
            "waiting for the route assisted-service to get its host",
        ),
        (
            Facts { cluster_authorities: None, ..openshift() },
            "waiting for cluster trusted CA bundle to be injected in config map cluster-trusted-ca-bundle",
        ),
    ] {
        let desired = make(&config, &facts).unwrap();
        assert_eq!(desired.pending.as_ref().unwrap().text, told);
        assert!(find(&desired, "Route", "assisted-service").is_some());
        assert!(find(&desired, "Deployment", "assisted-service").is_none());
    }
}

#[test]
fn keys_and_passwords_are_made_once() {
    let config = config(&json!({}));
    let desired = make(&config, &openshift()).unwrap();
    assert_eq!(find(&desired, "Secret", "postgres").unwrap()["data"]["db.password"], "cGFzc3dvcmQ=");
    assert!(desired.components.iter().filter(|component| component.once).count() == 3);
    let sealing = &find(&desired, "Secret", "assisted-service-seal-keys").unwrap()["data"]["seal-keys"];
    assert_eq!(sealing, "c2VhbA==");
    let facts = Facts {
        keys: Some(Keys { private: "old".into(), public: "old".to_owned() }),
        database: Some(DatabaseAccess { password: "old".into() }),
        has_seal_keys: true,
        ..openshift()
    };
    let desired = make(&config, &facts).unwrap();
    assert!(desired.components.iter().all(|component| component.object["kind"] != "Secret"));
}

#[test]
fn a_volume_grows_and_nothing_else_of_it_changes() {
    let there = json!({"accessModes": ["ReadWriteMany"], "storageClassName": "fast", "volumeName": "pv-1",
                       "resources": {"requests": {"storage": "50Gi"}}});
    let with = |wanted: &str| {
        let mut facts = openshift();
        facts.claims.insert("assisted-service".to_owned(), serde_json::from_value(there.clone()).unwrap());
        let config =
            config(&json!({"spec": {"filesystemStorage": {"resources": {"requests": {"storage": wanted}}}}}));
        let desired = make(&config, &facts).unwrap();
        find(&desired, "PersistentVolumeClaim", "assisted-service").unwrap()["spec"].clone()
    };
    assert_eq!(with("20Gi"), there);
    let mut grown = there.clone();
    grown["resources"]["requests"]["storage"] = "100Gi".into();
    assert_eq!(with("100Gi"), grown);
}

#[test]
fn annotations_switch_and_rename() {
    let prefix = "unsupported.agent-install.openshift.io/assisted-service";
    let annotations = json!({
        "agent-install.openshift.io/enable-image-service": "no",
        format!("{prefix}-pvc-prefix"): "a-",
        format!("{prefix}-secrets-prefix"): "b-",
        format!("{prefix}-configmap"): "more",
    });
    let config = config(&json!({"metadata": {"annotations": annotations}}));
    let facts = Facts {
        settings: Some(BTreeMap::from([("LOG_LEVEL".to_owned(), "debug".to_owned())])),
        ..openshift()
    };
    let desired = make(&config, &facts).unwrap();
    assert!(names(&desired).iter().all(|name| !name.ends_with("/assisted-image-service")));
    for (kind, name) in [
        ("PersistentVolumeClaim", "a-postgres"),
        ("PersistentVolumeClaim", "a-assisted-service"),
        ("Secret", "b-postgres"),
        ("Secret", "b-assisted-servicelocal-auth"),
        ("Secret", "b-assisted-service-seal-keys"),
    ] {
        assert!(find(&desired, kind, name).is_some(), "{name}");
    }
    let template = &find(&desired, "Deployment", "assisted-service").unwrap()["spec"]["template"];
    let from = &template["spec"]["containers"][0]["envFrom"];
    assert_eq!(from[1], json!({"configMapRef": {"name": "more"}}));
    assert_ne!(template["metadata"]["annotations"]["agent-install.openshift.io/user-config-hash"], "");
    let settings = find(&desired, "ConfigMap", "assisted-service").unwrap();
    assert_eq!(settings["data"]["ENABLE_IMAGE_SERVICE"], "False");
}

#[test]
fn ipxe_without_tls_has_routes_of_its_own() {
    let config = config(&json!({"spec": {"iPXEHTTPRoute": "enabled"}}));
    let desired = make(&config, &openshift()).unwrap();
    let route = find(&desired, "Route", "assisted-image-service-ipxe").unwrap();
    for name in ["assisted-service", "assisted-image-service", "assisted-image-service-ipxe"] {
        let annotations = &find(&desired, "Route", name).unwrap()["metadata"]["annotations"];
        assert_eq!(annotations["haproxy.router.openshift.io/timeout"], "120s", "{name}");
    }
    assert_eq!(route["spec"]["host"], "images.apps.example.com");
    assert_eq!(route["spec"]["port"]["targetPort"], "assisted-image-service-http");
    assert!(route["spec"]["tls"].is_null());
    let env = &find(&desired, "Deployment", "assisted-service").unwrap()["spec"]["template"]["spec"]["containers"]
        [0]["env"];
    assert!(env.as_array().unwrap().contains(&json!({"name": "HTTP_LISTEN_PORT", "value": "8091"})));
    let without = Facts { route_hosts: BTreeMap::new(), ..openshift() };
    assert!(find(&make(&config, &without).unwrap(), "Route", "assisted-service-ipxe").is_none());
}

#[test]
fn a_change_of_what_is_read_starts_pods_anew() {
    let config =
        config(&json!({"spec": {"mirrorRegistryRef": {"name": "mirror"}, "OSImageCACertRef": {"name": "ca"},
        "OSImageAdditionalParamsRef": {"name": "params"}}}));
    let annotations = |kind: &str, name: &str, facts: &Facts| {
        let desired = make(&config, facts).unwrap();
        assert!(desired.pending.is_none(), "{:?}", desired.pending);
        find(&desired, kind, name).unwrap()["spec"]["template"]["metadata"]["annotations"].clone()
    };
    let conf = |text: &str| Some(BTreeMap::from([("registries.conf".to_owned(), text.to_owned())]));
    let before = Facts { mirror: conf(""), ..openshift() };
    let deployment = |facts: &Facts| annotations("Deployment", "assisted-service", facts);
    let mirrored = Facts { mirror: conf("unqualified-search-registries = ['a']"), ..before.clone() };
    assert_ne!(deployment(&before), deployment(&mirrored));
    let mut moved = before.clone();
    moved.route_hosts.insert("assisted-service".to_owned(), "other.example.com".to_owned());
    assert_ne!(deployment(&before), deployment(&moved));
    assert_eq!(deployment(&before), deployment(&before.clone()));

    // They stand on the pods, so that a change is seen (kube-api §16, 25).
    let images = |facts: &Facts| annotations("StatefulSet", "assisted-image-service", facts);
    let trusting = Facts { os_image_authorities: Some(("a".to_owned(), "b".to_owned())), ..before.clone() };
    assert_ne!(images(&before), images(&trusting));
    let params = |text: &str| Some(BTreeMap::from([("headers".to_owned(), text.into())]));
    let asking = Facts { os_image_params: params("{}"), ..before.clone() };
    assert_ne!(images(&asking), images(&Facts { os_image_params: params("{\"a\": \"b\"}"), ..before }));
}

#[test]
fn ingresses_have_a_certificate() {
    let config = bare(&json!({}));
    let desired = make(&config, &kubernetes()).unwrap();
    let secret = find(&desired, "Secret", "assisted-service-ingress").unwrap();
    let images = find(&desired, "Secret", "assisted-image-service-ingress").unwrap();
    assert_eq!(secret["data"]["tls.crt"], images["data"]["tls.crt"]);
    assert!(secret["data"]["ca.key"].is_string() && images["data"]["ca.key"].is_null());
    let ingress = find(&desired, "Ingress", "assisted-service").unwrap();
    assert_eq!(ingress["spec"]["tls"][0]["secretName"], "assisted-service-ingress");
    assert_eq!(ingress["spec"]["ingressClassName"], "nginx");
    // Logs are uploaded through it, and images downloaded.
    let annotations = &ingress["metadata"]["annotations"];
    assert_eq!(annotations["nginx.ingress.kubernetes.io/proxy-body-size"], "0");
    assert_eq!(annotations["nginx.ingress.kubernetes.io/proxy-buffering"], "off");
    // Whoever brings a certificate keeps it.
    let foreign = Facts {
        ingress_certificate: IngressCertificate::Foreign { authorities: String::new() },
        ..kubernetes()
    };
    let desired = make(&config, &foreign).unwrap();
    assert!(find(&desired, "Secret", "assisted-service-ingress").is_none() && desired.renew_at.is_none());
    // There is none for a host that can't be one.
    let impossible =
        super::config(&json!({"spec": {"ingress": {"assistedServiceHostname": "dïenst.example.com"}}}));
    let problem = make(&impossible, &kubernetes()).unwrap_err();
    assert_eq!(problem.outcome.reason, "CertificateConfigurationFailure");
    // It may be one that everybody trusts: there is nothing that hosts must be told.
    let settings = find(&desired, "ConfigMap", "assisted-service").unwrap();
    assert!(settings["data"]["SERVICE_CA_CERT_PATH"].is_null());
}

#[test]
fn policies_let_through_what_is_asked_for() {
    let config = config(&json!({"spec": {"mirrorRegistryRef": {"name": "mirror"},
        "osImages": [{"openshiftVersion": "4.20", "version": "1", "url": "http://files.example.com:8088/a.iso"}]}}));
    let conf = "[[registry]]\nlocation = 'quay.io'\n[[registry.mirror]]\nlocation = 'mirror.example.com:5000/quay'\n";
    let settings = [
        ("ASSISTED_DATABASE", "postgres://user:password@db.example.com/installer"),
        ("KAFKA_BOOTSTRAP_SERVER", "one.example.com:9092,two.example.com:9093"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.example.com:4318"),
        ("S3_ENDPOINT_URL", "minio.example.com:9000"),
        ("LOG_LEVEL", "debug"),
    ];
    let facts = Facts {
        mirror: Some(BTreeMap::from([("registries.conf".to_owned(), conf.to_owned())])),
        settings: Some(settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into()),
        ..kubernetes()
    };
    let environment = assisted_kubeapi::operator::environment::Environment {
        https_proxy: "http://user:secret@proxy.example.com:3128".to_owned(),
        ..environment()
    };
    let input =
        Input { config: &config, environment: &environment, facts: &facts, fresh: &fresh(), hosted: None };
    let desired = assisted_kubeapi::operator::desired::desired(&input).unwrap();
    let policy = find(&desired, "NetworkPolicy", "assisted-service").unwrap();
    let ports: Vec<&Value> =
        policy["spec"]["egress"][1]["ports"].as_array().unwrap().iter().map(|port| &port["port"]).collect();
    assert_eq!(ports, [443, 3128, 4318, 5000, 5432, 6443, 8088, 9000, 9092, 9093]);
    assert_eq!(policy["spec"]["egress"][0]["ports"][0]["port"], 53);
    let text = serde_json::to_string(&desired.components[0].object).unwrap();
    assert!(!text.contains("secret@"), "policies tell no passwords");
}
