//! The same where metal3 inspects and cleans machines, and has them installed.

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::labels::finalizer as names;
use assisted_kube::finalizer;
use serde_json::json;

use super::*;

const NOW: i64 = 120;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn machine(metadata: &Value, state: &str) -> BareMetalHost {
    let mut object = json!({
        "metadata": {"name": "node-0", "namespace": "site", "finalizers": [names::BARE_METAL_HOST],
                     "labels": {"infraenvs.agent-install.openshift.io": "rack"}},
        "spec": {"bootMACAddress": "02:00:00:00:00:0A"},
        "status": {"provisioning": {"state": state}},
    });
    object["metadata"].as_object_mut().unwrap().extend(metadata.as_object().cloned().unwrap());
    serde_json::from_value(object).unwrap()
}

fn annotated(name: &str) -> Value {
    json!({"annotations": {(name): ""}})
}

fn image(status: &str, reason: &str) -> PreprovisioningImage {
    let ready = json!({
        "type": "Ready", "status": status, "reason": reason, "message": "", "lastTransitionTime": "2024-01-01T00:00:00Z",
    });
    serde_json::from_value(json!({"metadata": {"name": "node-0"}, "status": {"conditions": [ready]}}))
        .unwrap()
}

fn agent(bound: &str) -> Agent {
    serde_json::from_value(json!({
        "metadata": {"name": "33333333-3333-4333-8333-333333333333", "namespace": "site"},
        "spec": {"approved": false, "role": ""},
        "status": {"conditions": [{"type": "Bound", "status": "False", "reason": bound}],
                   "inventory": {"interfaces": [{"macAddress": "02:00:00:00:00:0a", "flags": []}]}},
    }))
    .unwrap()
}

fn pass(object: &BareMetalHost, image: Option<&PreprovisioningImage>, agent: Option<&Agent>) -> Decision {
    let infra_env = InfraEnv::default();
    let seen = Observed {
        flow: Flow::Converged { image },
        infra_env: Some(&infra_env),
        agent,
        pauses: true,
        whole_status: None,
        cool_down: SignedDuration::from_secs(60),
        now: at(NOW),
    };
    let decision = decide(object, &seen);
    let is_kept = finalizer::has(&decision.host.metadata, names::BARE_METAL_HOST);
    if decision.again.is_none() && is_kept {
        assert_eq!(decide(&decision.host, &seen).host, decision.host, "a second pass changes nothing");
    }
    decision
}

fn method(decision: &Decision) -> Option<&str> {
    decision.host.spec.custom_deploy.as_ref().map(|deploy| deploy.method.as_str())
}

fn detached(decision: &Decision) -> Option<&str> {
    decision.host.annotations().get(annotation::BMH_DETACHED).map(String::as_str)
}

#[test]
fn a_machine_is_installed_once_metal3_has_the_image_of_its_infra_env() {
    let own = image("True", "InfraEnvAvailable");
    let start = Some("start_assisted_install");
    for (image, expected) in [
        (None, None),
        (Some(&image("False", "InfraEnvAvailable")), None),
        // metal3 made one itself.
        (Some(&image("True", "ImageSuccess")), None),
        (Some(&own), start),
    ] {
        let decided = pass(&machine(&json!({}), "available"), image, Some(&agent("Bound")));
        assert_eq!(method(&decided), expected, "{image:?}");
        // Until then the Agent is none of its business.
        assert_eq!(decided.agent.is_some(), expected.is_some());
        assert_eq!(decided.host.spec.image, None);
        assert_eq!(decided.host.spec.automated_cleaning_mode, "");
        let annotations = decided.host.annotations();
        assert!(!annotations.contains_key(annotation::INSPECT), "{annotations:?}");
        assert!(!annotations.contains_key(annotation::HARDWARE_DETAILS), "{annotations:?}");
    }
    // What it was told stays when the image goes.
    let told = pass(&machine(&json!({}), "available"), Some(&own), None).host;
    assert_eq!(method(&pass(&told, None, None)), start);
}

#[test]
fn a_machine_that_is_installed_is_let_go_unless_it_is_to_be_looked_after() {
    let remove = annotation::BMAC_REMOVE_AGENT;
    let allow = annotation::BMAC_ALLOW_MANAGEMENT;
    let both = json!({"annotations": {(remove): "", (allow): ""}});
    let (own, delay) = (Some("assisted-service-controller"), Some(r#"{"deleteAction":"delay"}"#));
    for (metadata, state, bound, expected) in [
        (json!({}), "provisioned", "Bound", own),
        (json!({}), "provisioning", "Bound", None),
        (json!({}), "provisioned", "UnbindingPendingUserAction", None),
        (annotated(remove), "provisioned", "Bound", delay),
        (annotated(allow), "provisioned", "Bound", None),
        (both, "provisioned", "Bound", delay),
        (
            json!({"annotations": {(annotation::BMH_DETACHED): "x", (allow): ""}}),
            "provisioned",
            "Bound",
            None,
        ),
    ] {
        let decided = pass(&machine(&metadata, state), None, Some(&agent(bound)));
        assert_eq!(detached(&decided), expected, "{metadata} {state} {bound}");
    }
    assert_eq!(detached(&pass(&machine(&json!({}), "provisioned"), None, None)), own);
}

#[test]
fn a_host_that_left_is_deprovisioned_and_inspected_again() {
    let marks = json!({"annotations": {
        (annotation::BMH_DETACHED): "x", (annotation::BMH_PAUSED): "x", (annotation::BMAC_SPOKE_CREATED): "x",
    }});
    let gone = agent("UnbindingPendingUserAction");
    for (state, expected) in [
        ("provisioned", None),
        ("deprovisioning", Some("start_assisted_install")),
        ("available", Some("start_assisted_install")),
    ] {
        let mut machine = machine(&marks, state);
        machine.spec.custom_deploy = Some(assisted_crd::metal3::bare_metal_host::CustomDeploy {
            method: "start_assisted_install".to_owned(),
        });
        let decided = pass(&machine, None, Some(&gone));
        assert_eq!(method(&decided), expected, "{state}");
        assert!(decided.host.annotations().is_empty(), "{state}");
        assert_eq!(decided.agent.is_some(), state == "available", "{state}");
    }
}

#[test]
fn the_agent_goes_with_its_machine_where_that_is_wanted() {
    let going = |name: &str, state: &str| {
        let mut metadata = json!({"deletionTimestamp": "2024-01-01T00:00:00Z", "annotations": {
            (annotation::BMH_DETACHED): "x", (annotation::BMH_PAUSED): "x",
        }});
        metadata["annotations"][name] = "".into();
        machine(&metadata, state)
    };
    let kept = |decision: &Decision| finalizer::has(&decision.host.metadata, names::BARE_METAL_HOST);
    let (own, remove) = (agent("Bound"), annotation::BMAC_REMOVE_AGENT);
    let cleaned = pass(&going(remove, "provisioned"), None, Some(&own));
    assert_eq!((cleaned.again, kept(&cleaned), cleaned.removes_agent), (Some(at(NOW + 10)), true, false));
    assert_eq!(cleaned.host.spec.automated_cleaning_mode, "metadata");
    assert!(detached(&cleaned).is_none() && !cleaned.host.annotations().contains_key(annotation::BMH_PAUSED));
    let last = pass(&going(remove, "deleting"), None, Some(&own));
    assert_eq!((last.again, kept(&last), last.removes_agent), (None, false, true));
    // Nobody to take along.
    let alone = pass(&going(remove, "provisioned"), None, None);
    assert_eq!((kept(&alone), alone.removes_agent, detached(&alone)), (false, false, None));
    // Not wanted: the Agent stays, and so does what metal3 was told.
    let other = pass(&going("other", "provisioned"), None, Some(&own));
    assert_eq!((kept(&other), other.removes_agent, detached(&other)), (false, false, Some("x")));
}
