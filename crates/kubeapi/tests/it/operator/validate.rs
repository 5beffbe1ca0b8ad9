//! What an AgentServiceConfig must be (kube-api §6.9).

use std::collections::BTreeMap;

use assisted_crd::agent_install::agent_service_config::AgentServiceConfigStatus;
use assisted_kubeapi::operator::desired::quantity;
use assisted_kubeapi::operator::facts::Facts;
use assisted_kubeapi::operator::validate::{
    check, immutable_annotations, os_image_authorities, os_image_params,
};
use assisted_testkit::Authority;
use k8s_openapi::api::core::v1::PersistentVolumeClaimSpec;
use serde_json::{Value, json};

use super::{bare, config, kubernetes, openshift};

fn claim(size: &str) -> Value {
    json!({"resources": {"requests": {"storage": size}}})
}

#[test]
fn volumes_are_large_enough_unless_they_are_there() {
    let small =
        config(&json!({"spec": {"databaseStorage": claim("500Mi"), "filesystemStorage": claim("1023Mi"),
                                        "imageStorage": claim("9Gi")}}));
    let mut facts = openshift();
    let told = |facts: &Facts| check(&small, facts).map_err(|problem| (problem.outcome.reason, problem.text));
    assert_eq!(
        told(&facts),
        Err((
            "StorageFailure",
            "Database storage 500Mi is too small, it must be at least 1Gi. Filesystem storage 1023Mi is too small, it must be \
             at least 1Gi. Image storage 9Gi is too small, it must be at least 10Gi."
                .to_owned()
        ))
    );
    facts.claims.insert("postgres".to_owned(), PersistentVolumeClaimSpec::default());
    facts.claims.insert("assisted-service".to_owned(), PersistentVolumeClaimSpec::default());
    assert_eq!(
        told(&facts),
        Err(("StorageFailure", "Image storage 9Gi is too small, it must be at least 10Gi.".to_owned()))
    );
    facts.has_image_service = true;
    assert_eq!(told(&facts), Ok(()));
    assert!(check(&config(&json!({})), &openshift()).is_ok());
}

#[test]
fn volumes_can_be_left_out_but_not_taken_away() {
    assert!(check(&bare(&json!({})), &kubernetes()).is_ok());
    for (name, field) in [("postgres", "databaseStorage"), ("assisted-service", "filesystemStorage")] {
        let mut facts = kubernetes();
        facts.claims.insert(name.to_owned(), PersistentVolumeClaimSpec::default());
        let problem = check(&bare(&json!({})), &facts).unwrap_err();
        assert_eq!(problem.outcome.reason, "StorageFailure");
        assert!(problem.text.starts_with(&format!("{field} can't be taken away")), "{problem}");
    }
}

#[test]
fn without_routes_there_are_two_hosts() {
    for change in [
        json!({"ingress": null}),
        json!({"ingress": {"assistedServiceHostname": ""}}),
        json!({"ingress": {"imageServiceHostname": ""}}),
    ] {
        let config = config(&json!({"spec": change}));
        assert!(check(&config, &openshift()).is_ok());
        let problem = check(&config, &kubernetes()).unwrap_err();
        assert_eq!(
            (problem.outcome.reason, problem.text.as_str()),
            (
                "KubernetesIngressConfigMissing",
                "ingress configuration is required for non-OpenShift deployment"
            )
        );
    }
}

#[test]
fn without_an_image_service_there_are_no_images() {
    let images = json!([{"openshiftVersion": "4.20", "url": "https://example.com/a.iso", "version": "420"}]);
    let annotated = |value: &str| {
        config(
            &json!({"metadata": {"annotations": {"agent-install.openshift.io/enable-image-service": value}},
                       "spec": {"osImages": images}}),
        )
    };
    assert!(check(&annotated("true"), &openshift()).is_ok());
    assert!(check(&annotated(""), &openshift()).is_ok());
    let problem = check(&annotated("false"), &openshift()).unwrap_err();
    assert_eq!(
        (problem.outcome.reason, problem.text.as_str()),
        ("OSImagesShouldBeEmptyFailure", "osImages should be empty when image service is disabled")
    );
}

#[test]
fn some_annotations_stay() {
    const NAME: &str = "unsupported.agent-install.openshift.io/assisted-service-pvc-prefix";
    let with = |value: Option<&str>, kept: Option<&str>| {
        let mut config = config(&json!({"metadata": {"annotations": {NAME: value}}}));
        config.status = kept.map(|kept| AgentServiceConfigStatus {
            immutable_annotations: BTreeMap::from([(NAME.to_owned(), kept.to_owned())]),
            ..AgentServiceConfigStatus::default()
        });
        immutable_annotations(&config).map(|kept| kept[NAME].clone()).map_err(|problem| problem.text)
    };
    assert_eq!(with(Some("a"), None), Ok("a".to_owned()));
    assert_eq!(with(None, None), Ok(String::new()));
    assert_eq!(with(Some("a"), Some("a")), Ok("a".to_owned()));
    assert_eq!(with(None, Some("")), Ok(String::new()));
    assert_eq!(
        with(Some("a"), Some("")),
        Err(format!("annotation {NAME} cannot be added after AgentServiceConfig creation"))
    );
    assert_eq!(
        with(Some("b"), Some("a")),
        Err(format!("annotation {NAME} value cannot be changed from \"a\" to \"b\""))
    );
    assert_eq!(with(None, Some("a")), Err(format!("annotation {NAME} cannot be removed once set")));
}

#[test]
fn authorities_for_images_are_one_file_of_certificates() {
    let pem = Authority::new("images").unwrap().pem;
    let data = |files: &[(&str, &str)]| -> BTreeMap<String, String> {
        files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    };
    let told = |files: &[(&str, &str)]| os_image_authorities(&data(files)).map_err(|problem| problem.text);
    assert_eq!(told(&[("tls.pem", &pem)]), Ok(("tls.pem".to_owned(), pem.clone())));
    assert!(told(&[("tls.pem", &format!("{pem}\n{pem}"))]).is_ok());
    assert_eq!(os_image_authorities(&data(&[])).unwrap_err().outcome.reason, "OSImageCACertRefFailure");
    let several = "ConfigMap referenced by OSImageCACertRef must contain exactly one key";
    for files in [&[][..], &[("a", pem.as_str()), ("b", pem.as_str())]] {
        assert_eq!(told(files), Err(several.to_owned()));
    }
    let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    for (text, why) in [
        (String::new(), "certificate bundle is empty"),
        ("text".to_owned(), "certificate bundle is empty"),
        (format!("{pem}text"), "trailing content found after the last certificate block"),
        (format!("{pem}{key}"), "unexpected PEM block type found \"PRIVATE KEY\""),
        (
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_owned(),
            "failed to parse x509 certificate block",
        ),
    ] {
        let error = told(&[("a", &text)]).unwrap_err();
        assert!(error.starts_with("file a does not contain a valid PEM certificate, "), "{error}");
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn parameters_for_images_are_headers_and_queries() {
    let told = |members: &[&str]| {
        let members: Vec<_> = members.iter().map(|member| (*member).to_owned()).collect();
        os_image_params(members.iter()).is_ok()
    };
    assert!(told(&["headers"]) && told(&["query_params"]) && told(&["headers", "query_params"]));
    let problem = os_image_params(std::iter::empty()).unwrap_err();
    assert_eq!(problem.outcome.reason, "ReasonOSImageAdditionalParamsRefFailure");
    assert!(!told(&[]) && !told(&["other"]) && !told(&["headers", "other"]));
}

#[test]
fn quantities() {
    for (text, bytes) in [
        ("1Gi", Some(1 << 30)),
        ("1024Mi", Some(1 << 30)),
        ("1.5Gi", Some(3 << 29)),
        ("1G", Some(1_000_000_000)),
        ("1e3", Some(1000)),
        ("500m", Some(0)),
        ("0", Some(0)),
        ("much", None),
        ("-1", None),
        ("", None),
    ] {
        assert_eq!(quantity(text), bytes, "{text}");
    }
}
