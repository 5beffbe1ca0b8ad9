use assisted_wire::id::InfraEnvId;
use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::action::Effect;
use crate::topology::Build;
use crate::world::{Needs, Site};

fn command(role: HostRole, control_plane_count: i64) -> InstallCmdRequest {
    serde_json::from_value(json!({
        "cluster_id": ClusterId::default(), "infra_env_id": InfraEnvId::default(),
        "host_id": "00000000-0000-0000-0000-000000000001", "role": role, "boot_device": "/dev/sda",
        "controller_image": "quay.io/a/controller:1", "installer_image": "quay.io/a/installer:1",
        "control_plane_count": control_plane_count,
    }))
    .unwrap()
}

/// Runs an installer against a service that accepts everything; other hosts boot as soon as they may.
fn run(role: HostRole, masters: u32, fault: Option<&str>) -> (Outcome, Vec<(String, String)>) {
    let done = r#"[{"progress":{"current_stage":"Done"}},{"progress":{"current_stage":"Done"}}]"#;
    run_in(r#"{"kind":"Cluster"}"#, done, role, masters, fault)
}

/// The same in a cluster of a kind, with hosts that are done.
fn run_in(
    kind: &'static str,
    done: &'static str,
    role: HostRole,
    masters: u32,
    fault: Option<&str>,
) -> (Outcome, Vec<(String, String)>) {
    let needs = Needs { hosts: masters, vips: masters > 1, dual: false };
    let site = Site::new(0, needs).unwrap();
    let host = SimHost::at(InfraEnvId::default(), 0, site.host(0), Build::ControlPlane);
    let mut kube = Kube::new(masters);
    let mut random = Random::new(1);
    let fault = fault.map(|fault| fault.parse().unwrap());
    let mut installer = Installer::new(&command(role, i64::from(masters)), fault);
    let mut reports = Vec::new();
    let mut now = Duration::ZERO;
    let mut answer = None;
    let mut out = ActionSink::new(now, 0);
    installer.start(&host, &mut out);
    for _ in 0..10_000 {
        let mut out = ActionSink::new(now, 0);
        for place in 1..masters {
            kube.booted(place, HostRole::Master, now, None, &mut random);
        }
        kube.announced = kube.has_controller(now);
        let mut context =
            Context { host: &host, first: 0, masters, arbiters: 0, kube: &mut kube, random: &mut random };
        let outcome = match answer.take() {
            Some(answer) => installer.answered(&answer, &mut context, &mut out),
            None => installer.woken(&mut context, &mut out),
        };
        if outcome != Outcome::Going {
            return (outcome, reports);
        }
        let own = Process::Installer(0);
        for (delay, effect) in out.take() {
            match effect {
                Effect::Wake(process) => {
                    assert_eq!(process, own);
                    now += delay;
                }
                Effect::Send(call) => {
                    if call.path.ends_with("/progress") {
                        let body: Value = serde_json::from_slice(&call.body).unwrap();
                        let of = if call.path.contains(&host.id.to_string()) { "own" } else { "peer" };
                        reports.push((of.to_owned(), body["current_stage"].as_str().unwrap().to_owned()));
                    }
                    if call.from == own {
                        let body = match &call.path {
                            path if path.contains("role=master") => done,
                            path if path.contains("exclude-hosts") => kind,
                            _ => "",
                        };
                        let body = Bytes::from_static(body.as_bytes());
                        answer = Some(Response { status: 200, body, repeated: false });
                    }
                }
            }
        }
    }
    panic!("it does not end: {reports:?}");
}

fn own(reports: &[(String, String)]) -> Vec<&str> {
    let mut stages: Vec<_> =
        reports.iter().filter(|(of, _)| of == "own").map(|(_, stage)| stage.as_str()).collect();
    stages.dedup();
    stages
}

#[test]
fn each_role_walks_its_stages() {
    let (outcome, reports) = run(HostRole::Bootstrap, 3, None);
    assert_eq!(outcome, Outcome::Reboots(SHUTDOWN));
    assert_eq!(
        own(&reports),
        [
            "Starting installation",
            "Installing",
            "Writing image to disk",
            "Waiting for control plane",
            "Waiting for bootkube",
            "Waiting for controller",
            "Rebooting"
        ]
    );
    let peers: Vec<_> =
        reports.iter().filter(|(of, _)| of == "peer").map(|(_, stage)| stage.as_str()).collect();
    assert_eq!(peers.iter().filter(|stage| **stage == "Joined").count(), 2, "{peers:?}");

    let (outcome, reports) = run(HostRole::Bootstrap, 1, None);
    assert_eq!(outcome, Outcome::Reboots(Duration::ZERO));
    assert_eq!(
        own(&reports),
        ["Starting installation", "Installing", "Waiting for bootkube", "Writing image to disk", "Rebooting"]
    );
    let (_, reports) = run(HostRole::Arbiter, 3, None);
    assert_eq!(own(&reports), ["Starting installation", "Installing", "Writing image to disk", "Rebooting"]);
    let (_, reports) = run(HostRole::Worker, 3, None);
    assert!(own(&reports).contains(&"Waiting for control plane"));
}

#[test]
fn it_fails_where_it_is_to() {
    let (outcome, reports) = run(HostRole::Master, 3, Some("fail@installing"));
    assert_eq!((outcome, reports.last().unwrap().1.as_str()), (Outcome::Failed, "Failed"));
    assert_eq!(own(&reports), ["Starting installation", "Installing", "Failed"]);
    let (_, reports) = run(HostRole::Master, 3, Some("wrong-stage"));
    let wrong = reports.iter().filter(|(_, stage)| stage == "Waiting for ignition").count();
    assert_eq!(wrong, 3, "{reports:?}");
}

#[test]
fn a_worker_that_is_added_waits_for_nobody() {
    let (outcome, reports) = run_in(r#"{"kind":"AddHostsCluster"}"#, "[]", HostRole::Worker, 3, None);
    assert_eq!(outcome, Outcome::Reboots(SHUTDOWN));
    assert_eq!(own(&reports).last(), Some(&"Rebooting"));
}
