//! What is told, what reports are taken, and what users see of it.

use std::sync::Arc;

use assisted_wire::cluster::ClusterStatus;
use jiff::SignedDuration;
use serde_json::json;

use super::*;
use crate::decide::cluster::lost_builds::{SILENCE, give_up, silent_until};
use crate::decide::measure;
use crate::layering::tests::{enabled, external, layered, objects};
use crate::model::deadline;
use crate::model::measurement::{ImageBuildEnded, Measured};

fn installing(layering: &Value) -> Facts {
    let mut facts = layered(layering, &objects());
    let now = facts.now;
    for host in &mut facts.hosts {
        host.record.host.status = assisted_wire::host::HostStatus::InstallingInProgress;
        host.record.host.status_updated_at = now.into();
    }
    facts.with_cluster(|cluster| {
        cluster.status = ClusterStatus::Installing;
        cluster.status_updated_at = now.into();
        cluster.install_started_at = now.into();
    })
}

fn build(value: &Value) -> LayeringReport {
    let mut build = json!({"pool": "master", "location": "bootstrap", "state": "building", "attempt": 1});
    for (name, value) in value.as_object().unwrap() {
        build[name] = value.clone();
    }
    serde_json::from_value(json!({"build": build})).unwrap()
}

fn after(facts: &Facts, value: &Value) -> Facts {
    let decision = report(facts, "master", build(value)).unwrap();
    Facts { cluster: decision.cluster.or_else(|| facts.cluster.clone()), ..facts.clone() }
}

fn events(facts: &Facts, value: &Value) -> Vec<&'static str> {
    let decision = report(facts, "master", build(value)).unwrap();
    decision.events.iter().map(|event| event.name).filter(|name| name.starts_with("ocl_")).collect()
}

const IMAGE: &str = "api-int.test.example.com:22626/ocl/os-image-master@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn kind(facts: &Facts, pool: &str, value: &Value) -> RefusalKind {
    report(facts, pool, build(value)).unwrap_err().kind
}

#[test]
fn what_is_told_before_and_while_images_are_built() {
    let off = layered(&json!({"mode": "Disabled"}), &[]);
    assert_eq!(state(&off), disabled(&LayeringRecord::default()));
    let facts = installing(&enabled());
    let told = state(&facts);
    assert_eq!(
        (told.status, told.builds.len(), told.registry_port),
        (LayeringStatus::Pending, 2, Some(22_626))
    );
    assert_eq!(told.builds[1].location, BuildLocation::ControlPlane);
    let facts = after(&facts, &json!({"percent": 58, "step": "STEP 7/12: RUN dnf"}));
    let told = state(&facts);
    assert_eq!(
        (told.status, told.status_info.as_str()),
        (LayeringStatus::Building, "Building image for pool master")
    );
    assert_eq!((told.builds[0].percent, told.builds[0].step.as_deref()), (58, Some("STEP 7/12: RUN dnf")));
    assert!(told.builds[0].started_at.is_some() && told.builds[0].completed_at.is_none());
    let facts = after(&facts, &json!({"state": "ready", "image": IMAGE}));
    assert_eq!(state(&facts).status_info, "Waiting to build the image for pool worker");
    let alone = facts.with_roles(&[assisted_wire::host::HostRole::Master; 4]);
    assert_eq!(state(&alone).status, LayeringStatus::Ready);
    let adopted = after(&alone, &json!({"state": "ready", "image": IMAGE, "adopted": true}));
    assert!(state(&adopted).adopted);
    assert_eq!(state(&adopted).status, LayeringStatus::Adopted);
}

#[test]
fn reports_that_are_refused() {
    let facts = installing(&enabled());
    assert_eq!(
        kind(&layered(&json!({"mode": "Disabled"}), &[]), "master", &json!({})),
        RefusalKind::NotFound
    );
    assert_eq!(kind(&facts, "infra", &json!({})), RefusalKind::NotFound);
    assert_eq!(kind(&layered(&enabled(), &objects()), "master", &json!({})), RefusalKind::Conflict);
    assert_eq!(kind(&facts, "worker", &json!({})), RefusalKind::Unprocessable);
    let digest = "0".repeat(64);
    for image in [
        "",
        "api-int.test.example.com:22626/ocl/os-image-master:latest",
        &format!("api-int.test.example.com:22626/ocl/os-image-worker@sha256:{digest}"),
        &format!("other.example.com/ocl/os-image-master@sha256:{digest}"),
    ] {
        assert_eq!(
            kind(&facts, "master", &json!({"state": "ready", "image": image})),
            RefusalKind::Unprocessable,
            "{image}"
        );
    }
    assert_eq!(kind(&facts, "master", &json!({"state": "failed"})), RefusalKind::Unprocessable);
    let ready = after(&facts, &json!({"state": "ready", "image": IMAGE, "attempt": 2}));
    assert_eq!(kind(&ready, "master", &json!({"attempt": 1})), RefusalKind::Conflict);
    assert_eq!(kind(&ready, "master", &json!({"attempt": 2})), RefusalKind::Conflict);
    assert_eq!(
        kind(&ready, "master", &json!({"attempt": 2, "state": "failed", "error_code": "push"})),
        RefusalKind::Conflict
    );
    // A good image may fail on the nodes.
    for code in ["boot", "adopt", "deploy"] {
        let failed = json!({"attempt": 2, "state": "failed", "error_code": code, "error": "node m-0"});
        assert_eq!(events(&ready, &failed), ["ocl_build_failed"], "{code}");
    }
    assert!(report(&ready, "master", build(&json!({"attempt": 3}))).is_ok());
    assert!(
        report(&ready, "master", build(&json!({"attempt": 2, "state": "ready", "image": IMAGE}))).is_ok()
    );
    let elsewhere = format!("registry.example.com/acme/os-master@sha256:{digest}");
    assert!(
        report(&installing(&external()), "master", build(&json!({"state": "ready", "image": elsewhere})))
            .is_ok()
    );
}

#[test]
fn what_users_see_of_it() {
    let facts = installing(&enabled());
    assert_eq!(events(&facts, &json!({})), ["ocl_build_started", "ocl_build_state_changed"]);
    let facts = after(&facts, &json!({}));
    assert_eq!(events(&facts, &json!({"percent": 60})), Vec::<&str>::new());
    assert_eq!(events(&facts, &json!({"attempt": 2})), ["ocl_build_retry"]);
    assert_eq!(events(&facts, &json!({"state": "pushing"})), ["ocl_build_state_changed"]);
    assert_eq!(events(&facts, &json!({"state": "ready", "image": IMAGE})), ["ocl_build_succeeded"]);
    assert_eq!(events(&facts, &json!({"seedable": false})), ["ocl_not_seedable"]);
    let failed = json!({"state": "failed", "error": "RUN exits with 1", "error_code": "build-user"});
    assert_eq!(events(&facts, &failed), ["ocl_build_failed"]);
    let failed = after(&facts, &failed);
    assert_eq!(state(&failed).status, LayeringStatus::Failed);
    assert_eq!(state(&failed).status_info, "OS image build failed for pool master: RUN exits with 1");
    let ready = after(&facts, &json!({"state": "ready", "image": IMAGE}));
    assert_eq!(
        events(&ready, &json!({"state": "ready", "image": IMAGE, "adopted": true})),
        ["ocl_pool_adopted"]
    );
}

#[test]
fn events_of_each_pool_have_what_programs_read() {
    let of_workers = IMAGE.replace("os-image-master", "os-image-worker");
    for (pool, image) in [("master", IMAGE), ("worker", of_workers.as_str())] {
        let facts = installing(&enabled());
        let began = build(&json!({"pool": pool, "attempt": 2}));
        let began = report(&facts, pool, began).unwrap();
        let event = began.events.iter().find(|event| event.name == "ocl_build_started").unwrap();
        let expected = json!({"pool": pool, "attempt": 2, "image": null, "duration_seconds": 0});
        assert_eq!(event.props, Some(expected));
        let later = Facts { cluster: began.cluster, now: facts.now + SignedDuration::from_secs(90), ..facts };
        let ready = build(&json!({"pool": pool, "attempt": 2, "state": "ready", "image": image}));
        let ready = report(&later, pool, ready).unwrap();
        let event = ready.events.iter().find(|event| event.name == "ocl_build_succeeded").unwrap();
        let expected = json!({"pool": pool, "attempt": 2, "image": image, "duration_seconds": 90});
        assert_eq!(event.props, Some(expected));
        assert!(event.message.contains(&format!("of pool {pool} was built in 90 seconds: {image}")));
    }
}

#[test]
fn builds_of_each_pool_are_measured() {
    let of_workers = IMAGE.replace("os-image-master", "os-image-worker");
    for (pool, location, image) in
        [("master", "bootstrap", IMAGE), ("worker", "control-plane", of_workers.as_str())]
    {
        let facts = installing(&enabled());
        let measured = |facts: &Facts, value: &Value| {
            let mut whole = json!({"pool": pool, "location": location});
            whole.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
            let decision = report(facts, pool, build(&whole)).unwrap();
            let (before, after) = (facts.cluster.as_ref().unwrap(), decision.cluster.unwrap());
            let all = measure::of_cluster(Some(before), &after, &decision.events, facts.now);
            (
                Facts { cluster: Some(after), ..facts.clone() },
                all.into_iter().map(|one| one.what).collect::<Vec<_>>(),
            )
        };
        let begun = Measured::ImageBuildBegun { pool, location };
        let ended = |result, code, bytes| {
            Measured::ImageBuildEnded(ImageBuildEnded { pool, location, result, seconds: 90.0, code, bytes })
        };
        let (facts, first) = measured(&facts, &json!({}));
        assert_eq!(first, std::slice::from_ref(&begun));
        let (facts, again) = measured(&facts, &json!({"attempt": 2}));
        assert_eq!(again, [begun]);
        let later = Facts { now: facts.now + SignedDuration::from_secs(90), ..facts };
        let ready = json!({"attempt": 2, "state": "ready", "image": image, "image_bytes": 1_000_000});
        assert_eq!(measured(&later, &ready).1, [ended("ready", None, Some(1_000_000))]);
        let failed = json!({"attempt": 2, "state": "failed", "error_code": "push", "error": "refused"});
        assert_eq!(measured(&later, &failed).1, [ended("failed", Some("push"), None)]);
    }
}

#[test]
fn each_code_is_told_and_ends_a_cluster_that_finalizes() {
    use LayeringErrorCode as C;
    for code in C::ALL {
        let facts = after(&installing(&enabled()), &json!({}));
        let reason = format!("it failed by {code}");
        // What fails on nodes was built before.
        let built = matches!(code, C::Deploy | C::Boot | C::Adopt);
        let facts = if built { after(&facts, &json!({"state": "ready", "image": IMAGE})) } else { facts };
        let failed = json!({"state": "failed", "error_code": code, "error": reason});
        let decision = report(&facts, "master", build(&failed)).unwrap();
        let told = decision.events.iter().find(|event| event.name == "ocl_build_failed").unwrap();
        assert_eq!(told.message, format!("OS image build failed for pool master ({code}): {reason}"));
        let failure = format!("OS image build failed for pool master: {reason}");
        let record = decision.cluster.unwrap();
        // Its hosts wait for the image, and fail with it; no host tells that a node boots another one.
        let ends = *code == C::Boot;
        let expected = if ends { ClusterStatus::Error } else { ClusterStatus::Installing };
        assert_eq!(record.cluster.status, expected, "{code}");
        assert_eq!(record.layering.builds[0].error_code, Some(*code));
        let now = Facts { cluster: Some(record), ..facts.clone() };
        assert_eq!((state(&now).status, state(&now).status_info), (LayeringStatus::Failed, failure.clone()));

        // Nodes are there already: nobody is left who would fail.
        let mut finalizing = facts.with_cluster(|cluster| cluster.status = ClusterStatus::Finalizing);
        for host in &mut finalizing.hosts {
            host.record.host.status = assisted_wire::host::HostStatus::Installed;
        }
        let record = report(&finalizing, "master", build(&failed)).unwrap().cluster.unwrap();
        let ended = (record.cluster.status, record.cluster.status_info);
        assert_eq!(ended, (ClusterStatus::Error, failure), "{code}");
    }
}

#[test]
fn hosts_that_have_their_replica() {
    let facts = installing(&enabled());
    let with = |phase: &str| {
        let mut report = build(&json!({}));
        report.hosts = vec![
            serde_json::from_value(json!({"host_id": facts.hosts[0].record.host.id, "phase": phase}))
                .unwrap(),
        ];
        report.hosts.push(
            serde_json::from_value(json!({"host_id": uuid::Uuid::from_u128(99), "phase": phase})).unwrap(),
        );
        report
    };
    let first = report(&facts, "master", with("replicating")).unwrap();
    let replicating = Facts { cluster: first.cluster, ..facts.clone() };
    // Of a host that the cluster does not have nothing is kept.
    assert_eq!(state(&replicating).hosts.len(), 1);
    let second = report(&replicating, "master", with("done")).unwrap();
    assert!(
        second.events.iter().any(|event| event.name == "ocl_image_replicated" && event.host_id.is_some())
    );
    assert_eq!(second.cluster.unwrap().layering.hosts[0].phase, HostPhase::Done);
}

/// What a host reports of itself changes nothing of the build, which its builder alone knows.
#[test]
fn hosts_report_without_a_build() {
    let installing = installing(&enabled());
    let host = installing.hosts[0].record.host.id;
    let reported = |facts: &Facts, pool: &str, phase: &str| {
        let told = json!({"hosts": [{"host_id": host, "phase": phase}]});
        let decision = report(facts, pool, serde_json::from_value(told).unwrap()).unwrap();
        let events = decision.events.iter().map(|event| event.name).filter(|name| name.starts_with("ocl_"));
        let events: Vec<_> = events.collect();
        (Facts { cluster: decision.cluster, ..facts.clone() }, events)
    };
    // While nobody builds there is nobody who could be lost.
    for pool in ["master", "worker"] {
        let (waiting, events) = reported(&installing, pool, "waiting");
        assert_eq!((events, silent_until(&waiting)), (Vec::new(), None), "{pool}");
        assert_eq!(state(&waiting).builds, state(&installing).builds, "{pool}");
        assert_eq!(state(&waiting).hosts[0].phase, HostPhase::Waiting, "{pool}");
    }
    let building = after(&installing, &json!({"percent": 58}));
    let later = Facts { now: building.now + SignedDuration::from_secs(90), ..building.clone() };
    let (replicating, events) = reported(&later, "master", "replicating");
    assert_eq!(events, Vec::<&str>::new());
    let (done, events) = reported(&replicating, "master", "done");
    assert_eq!(events, ["ocl_image_replicated"]);
    assert_eq!(state(&done).builds, state(&building).builds);
    assert_eq!(silent_until(&done), silent_until(&building));

    let nothing = serde_json::from_value(json!({})).unwrap();
    let refused = report(&building, "master", nothing).unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Unprocessable);
    assert_eq!(refused.reason, "The report has neither a build nor hosts");
}

#[test]
fn a_host_whose_disk_did_not_take_the_image_is_told_of_once() {
    let facts = installing(&enabled());
    let with = |info: &str| {
        let host = facts.hosts[0].record.host.id;
        let mut report = build(&json!({}));
        report.hosts.push(
            serde_json::from_value(json!({"host_id": host, "phase": "switching", "info": info})).unwrap(),
        );
        report
    };
    let told = |facts: &Facts, info: &str| {
        let events = report(facts, "master", with(info)).unwrap().events;
        events.into_iter().find(|event| event.name == "ocl_deploy_failed")
    };
    let event = told(&facts, "no space left").unwrap();
    assert_eq!(event.host_id, Some(facts.hosts[0].record.host.id));
    assert!(event.message.contains("of pool master could not be put onto the disk (no space left)"));
    let again = report(&facts, "master", with("no space left")).unwrap().cluster;
    let again = Facts { cluster: again, ..facts.clone() };
    assert!(told(&again, "no space left").is_none());
    assert!(told(&again, "another reason").is_some());
    // Where switching is what was asked for, nothing has failed.
    assert!(told(&facts, "").is_none());
}

#[test]
fn a_builder_that_says_nothing_is_lost() {
    let mut facts = after(&installing(&enabled()), &json!({}));
    assert_eq!(silent_until(&facts), Some(deadline::after(facts.now, SILENCE)));
    assert!(!give_up(&mut facts, &mut Vec::new()));
    let until = deadline::after(facts.now, SILENCE);
    facts.now = until - SignedDuration::from_millis(1);
    assert!(!give_up(&mut facts, &mut Vec::new()));
    // The look that is asked for is one at which it is lost, and none follows at that moment.
    facts.now = until;
    let decision = crate::decide::refresh::refresh(&facts);
    assert!(decision.next_check.is_none_or(|next| next > until), "{:?}", decision.next_check);
    assert!(decision.events.iter().any(|event| event.name == "ocl_build_failed"));
    let build = &decision.cluster.unwrap().layering.builds[0];
    assert_eq!((build.state, build.error_code), (BuildState::Failed, Some(LayeringErrorCode::Lost)));
}

#[test]
fn what_holds_nothing_up_is_told_at_the_start() {
    assert_eq!(warnings(&installing(&enabled())), []);
    let mut other = crate::layering::tests::config("master");
    other["spec"]["containerFile"] = json!([{"containerfileArch": "ARM64", "content": "FROM x"}]);
    let policy = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterImagePolicy", "metadata": {"name": "signed"},
        "spec": {"scopes": ["api-int.test.example.com:22626"]},
    });
    let told = warnings(&layered(&enabled(), &[other, policy]));
    let texts: Vec<_> = told.iter().map(|event| event.message.as_str()).collect();
    assert!(texts[0].starts_with("Image mode: Image policy signed covers"), "{texts:?}");
    assert!(texts[1].contains("of pool master for ARM64 are not used"), "{texts:?}");
}

#[test]
fn a_service_on_the_bootstrap_host_has_all_images_built_there() {
    let there = |layering: &Value| {
        let mut facts = installing(layering);
        Arc::make_mut(&mut facts.policy).service.install_invoker = "agent-installer".to_owned();
        facts
    };
    let asked = json!({"mode": "Enabled", "workerBuildLocation": "ControlPlane"});
    assert_eq!(warnings(&installing(&asked)), []);
    let facts = there(&asked);
    let locations: Vec<_> = state(&facts).builds.iter().map(|build| build.location).collect();
    assert_eq!(locations, [BuildLocation::Bootstrap; 2]);
    let told = warnings(&facts);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].message.contains("built on the bootstrap host, whatever workerBuildLocation says"));
    // Nobody has asked for anything else.
    assert_eq!(warnings(&there(&enabled())), []);
}

#[test]
fn configs_for_the_controller() {
    let facts = installing(&enabled());
    let given = machine_os_config(&facts, "worker").unwrap();
    assert_eq!(given["metadata"], json!({"name": "worker"}), "nothing is added");
    assert_eq!(machine_os_config(&facts, "infra").unwrap_err().kind, RefusalKind::NotFound);
}
