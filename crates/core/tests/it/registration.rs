//! Every row of the table of registrations.

use std::time::Duration;

use assisted_core::decide::host::binding::{bind_host, unbind_host};
use assisted_core::decide::host::disable::{disable_host, enable_host};
use assisted_core::decide::host::registration::next_step_runner;
use assisted_core::decide::host::steps::{steps, view};
use assisted_core::model::refusal::RefusalKind;
use assisted_core::model::report::ReportKind;
use assisted_core::policy::Policy;
use assisted_wire::cluster::{ClusterStatus, InstallationPreparationStatus};
use assisted_wire::event::EventSeverity;
use assisted_wire::host::{HostKind, HostRole, HostStage, HostStatus};
use assisted_wire::infra_env::ImageType;
use assisted_wire::step::StepType;
use serde_json::json;

use crate::world::{World, cluster, inventory, key, names, single_node};

#[test]
fn a_new_host_of_a_pool() {
    let mut world = World::new(None);
    let registered = world.register(1).unwrap();
    let host = world.host(1);
    assert!(registered.created);
    assert_eq!(host.status, HostStatus::DiscoveringUnbound);
    assert_eq!(host.status_info, "Waiting for host to send hardware details");
    assert_eq!((host.role, host.suggested_role), (Some(HostRole::AutoAssign), Some(HostRole::AutoAssign)));
    assert_eq!(host.cluster_id, None);
    assert_eq!(host.progress_stages.as_deref(), Some(&[][..]));
    let path =
        format!("/api/assisted-install/v2/infra-envs/{}/hosts/{}", key(1).infra_env_id, key(1).host_id);
    assert_eq!(host.href, path);
    assert_eq!(names(&registered.decision.events), ["host_registration_succeeded"]);
    assert_eq!(
        registered.decision.events[0].message,
        format!("Host {}: Successfully registered", key(1).host_id)
    );
}

#[test]
fn a_new_host_of_a_cluster() {
    let role = |record| {
        let mut world = World::new(Some(record));
        world.register(1).unwrap();
        let host = world.host(1).clone();
        assert_eq!(host.status, HostStatus::Discovering);
        (host.kind, host.role.unwrap(), host.bootstrap, host.machine_config_pool_name)
    };
    let (auto, master, worker) = (HostRole::AutoAssign, HostRole::Master, HostRole::Worker);
    assert_eq!(role(cluster(&json!({}))), (HostKind::Host, auto, false, String::new()));
    assert_eq!(role(single_node()), (HostKind::Host, master, true, String::new()));
    let day2 = cluster(&json!({"kind": "AddHostsCluster", "status": "adding-hosts"}));
    assert_eq!(role(day2), (HostKind::AddToExistingClusterHost, worker, false, "worker".to_owned()));
}

#[test]
fn a_cluster_that_takes_no_hosts() {
    for status in ClusterStatus::ALL {
        let mut world = World::new(Some(cluster(&json!({"status": status}))));
        let accepted =
            matches!(status.as_str(), "insufficient" | "ready" | "pending-for-input" | "adding-hosts");
        match world.register(1) {
            Ok(_) => assert!(accepted, "{status}"),
            Err(rejection) => {
                assert!(!accepted, "{status}");
                assert_eq!(rejection.refusal.kind, RefusalKind::Conflict);
                let installed = rejection.refusal.reason.contains("original Discovery ISO");
                assert_eq!(installed, *status == ClusterStatus::Installed);
                assert_eq!(names(&rejection.events), ["host_registration_failed"]);
                assert_eq!(rejection.events[0].message, rejection.refusal.reason);
            }
        }
    }
}

#[test]
fn images_without_a_service() {
    let mut world = World::new(None);
    world.infra_env.infra_env.r#type = ImageType::DisconnectedIso;
    let rejection = world.register(1).unwrap_err();
    assert_eq!(rejection.refusal.kind, RefusalKind::Invalid);
    assert!(rejection.events.is_empty());
}

/// Registers again from a state and a stage; what comes of it.
fn again(
    status: HostStatus,
    stage: Option<HostStage>,
    kind: HostKind,
) -> Result<(World, Vec<&'static str>), RefusalKind> {
    let bound = !HostStatus::as_str(status).ends_with("unbound")
        && !matches!(
            status,
            HostStatus::Unbinding | HostStatus::UnbindingPendingUserAction | HostStatus::ReclaimingRebooting
        );
    let day2 = kind == HostKind::AddToExistingClusterHost;
    let record = bound.then(|| {
        cluster(&if day2 {
            json!({"kind": "AddHostsCluster", "status": "adding-hosts"})
        } else {
            json!({"last-installation-preparation": {"status": "success", "reason": "r"}})
        })
    });
    let mut world = World::new(record);
    world.register(1).unwrap();
    world.reply(1, StepType::Inventory, &inventory(1)).unwrap();
    let host = &mut world.facts.hosts[0].record.host;
    (host.status, host.status_info, host.kind) = (status, "old".to_owned(), kind);
    (host.requested_hostname, host.role) = ("kept".to_owned(), Some(HostRole::Worker));
    host.bootstrap = true;
    host.progress.as_mut().unwrap().current_stage = stage;
    world.wait(60);
    match world.register(1) {
        Ok(registered) => {
            assert!(!registered.created);
            let host = world.host(1);
            assert_eq!(host.registered_at.0, world.facts.now);
            assert_eq!(host.requested_hostname, "kept");
            assert_eq!(host.role, Some(HostRole::Worker));
            assert_eq!(host.installation_disk_id, "/dev/disk/by-id/wwn-1");
            let names = names(&registered.decision.events);
            Ok((world, names))
        }
        Err(rejection) => {
            assert_eq!(names(&rejection.events), ["host_registration_failed"]);
            assert!(rejection.events[0].message.starts_with("Failed to register host kept: "));
            Err(rejection.refusal.kind)
        }
    }
}

#[test]
fn the_table_of_registrations() {
    use HostStatus as S;
    for status in S::ALL {
        let expected = match status {
            S::Discovering
            | S::Known
            | S::Disconnected
            | S::Insufficient
            | S::PendingForInput
            | S::Binding
            | S::ResettingPendingUserAction
            | S::Resetting => Ok(S::Discovering),
            S::PreparingForInstallation | S::PreparingSuccessful => Ok(S::Known),
            S::Installing | S::InstallingInProgress => Ok(S::Error),
            // They were taken out, and stay so.
            S::Error | S::Disabled | S::DisabledUnbound => Ok(*status),
            S::Installed => Err(RefusalKind::Conflict),
            S::DiscoveringUnbound
            | S::DisconnectedUnbound
            | S::InsufficientUnbound
            | S::KnownUnbound
            | S::Unbinding
            | S::UnbindingPendingUserAction
            | S::ReclaimingRebooting => Ok(S::DiscoveringUnbound),
            S::PreparingFailed
            | S::Cancelled
            | S::Reclaiming
            | S::InstallingPendingUserAction
            | S::AddedToExistingCluster => Err(RefusalKind::Invalid),
        };
        let outcome = again(*status, None, HostKind::Host);
        match (outcome, expected) {
            (Err(code), Err(expected)) => assert_eq!(code, expected, "{status}"),
            (Ok((world, events)), Ok(expected)) => {
                assert_eq!(world.status(1), expected, "{status}");
                let told: &[&str] = if expected == *status { &[] } else { &["host_status_updated"] };
                assert_eq!(events, told, "{status}");
                let forgets = matches!(
                    expected,
                    S::Discovering | S::DiscoveringUnbound | S::Disabled | S::DisabledUnbound
                );
                assert_eq!(world.find(1).unwrap().inventory.is_none(), forgets, "{status}");
                assert_eq!(world.host(1).bootstrap, !forgets, "{status}");
                let preparation = world
                    .facts
                    .cluster
                    .as_ref()
                    .and_then(|record| record.cluster.last_installation_preparation.clone()?.status);
                let restarted = preparation == Some(InstallationPreparationStatus::NotStarted);
                assert_eq!(restarted, expected == S::Known, "{status}");
            }
            (outcome, expected) => {
                panic!("{status}: {:?}, expected {expected:?}", outcome.map(|(_, names)| names))
            }
        }
    }
}

/// It is mostly the machine itself, which was started again.
#[test]
fn an_agent_with_another_key_is_told_when_it_is_let_in() {
    let mut world = World::new(None);
    world.register(1).unwrap();
    world.facts.hosts[0].record.agent_key = Some("one".into());
    world.wait(40);
    let rejection = world.register(1).unwrap_err();
    assert_eq!(rejection.refusal.kind, RefusalKind::Unavailable);
    assert_eq!(rejection.refusal.retry_after, Some(Duration::from_secs(50)));
    let [event] = &rejection.events[..] else { panic!("{rejection:?}") };
    assert_eq!((event.name, event.severity), ("host_registration_delayed", EventSeverity::Warning));
    assert!(event.message.ends_with("it is let in within 51 seconds"), "{}", event.message);
    world.wait(50);
    assert!(!world.register(1).unwrap().created);
}

#[test]
fn booted_from_the_wrong_device() {
    use HostStatus as S;
    let (day1, day2) = (HostKind::Host, HostKind::AddToExistingClusterHost);
    let info = "Expected the host to boot from disk, but it booted the installation image - please reboot and fix boot order to boot from disk (sda, /dev/disk/by-id/wwn-1)";
    for (status, stage, kind) in [
        (S::InstallingInProgress, HostStage::Rebooting, day1),
        (S::InstallingInProgress, HostStage::Done, day2),
        (S::AddedToExistingCluster, HostStage::Done, day2),
    ] {
        let (world, _) = again(status, Some(stage), kind).unwrap();
        assert_eq!(world.status(1), S::InstallingPendingUserAction);
        assert_eq!(world.host(1).status_info, info);
    }
    assert_eq!(
        again(S::InstallingPendingUserAction, Some(HostStage::Rebooting), day1).unwrap_err(),
        RefusalKind::Invalid
    );
    let (world, events) = again(S::Resetting, Some(HostStage::Rebooting), day1).unwrap();
    assert_eq!((world.status(1), events), (S::Resetting, vec![]));
}

#[test]
fn binding_and_unbinding() {
    let policy = Policy::default();
    let record = cluster(&json!({}));
    let mut world = World::new(None);
    world.bring(1);
    let place = world.position(1);
    let early = bind_host(&world.facts.hosts[place], &world.infra_env, &record, &policy, world.facts.now);
    let early = early.unwrap_err();
    assert_eq!((early.refusal.kind, names(&early.events)), (RefusalKind::Internal, vec!["host_bind_failed"]));
    world.refresh();
    assert_eq!(world.status(1), HostStatus::KnownUnbound);

    let bound =
        bind_host(&world.facts.hosts[place], &world.infra_env, &record, &policy, world.facts.now).unwrap();
    assert_eq!(names(&bound.events), ["host_status_updated", "host_bind_succeeded"]);
    world.write(bound.hosts, None);
    world.facts.cluster = Some(record.clone());
    assert_eq!(world.host(1).status, HostStatus::Binding);
    assert_eq!(world.host(1).cluster_id, Some(record.cluster.id));
    assert!(world.facts.hosts[place].inventory.is_none());
    let twice = bind_host(&world.facts.hosts[place], &world.infra_env, &record, &policy, world.facts.now);
    assert_eq!(twice.unwrap_err().refusal.kind, RefusalKind::Conflict);
    world.refresh();
    assert_eq!(world.status(1), HostStatus::Binding, "its agent registers anew");
    world.register(1).unwrap();
    assert_eq!(world.status(1), HostStatus::Discovering);

    let unbound = unbind_host(&world.facts.hosts[place], &world.infra_env, world.facts.now).unwrap();
    assert_eq!(names(&unbound.events), ["host_status_updated", "host_unbind_succeeded"]);
    world.write(unbound.hosts, None);
    world.facts.cluster = None;
    let host = world.host(1);
    assert_eq!((host.status, host.cluster_id), (HostStatus::Unbinding, None));
    assert_eq!((host.role, host.suggested_role), (Some(HostRole::AutoAssign), None));
    assert!(host.installation_disk_id.is_empty());
    let twice = unbind_host(&world.facts.hosts[place], &world.infra_env, world.facts.now).unwrap_err();
    assert_eq!(twice.refusal.kind, RefusalKind::Conflict);
    assert!(twice.events.is_empty());
    world.register(1).unwrap();
    assert_eq!(world.status(1), HostStatus::DiscoveringUnbound);
}

#[test]
fn hosts_that_stay_with_their_cluster() {
    let mut world = World::new(Some(cluster(&json!({}))));
    world.register(1).unwrap();
    let fixed = unbind_host(&world.facts.hosts[0], &world.infra_env, world.facts.now).unwrap_err();
    assert!(fixed.refusal.reason.contains("is bound to Cluster"), "{}", fixed.refusal.reason);
    assert_eq!(
        (fixed.refusal.kind, names(&fixed.events)),
        (RefusalKind::Conflict, vec!["host_unbind_failed"])
    );
    world.facts.hosts[0].record.host.status = HostStatus::Installing;
    let busy = unbind_host(&world.facts.hosts[0], &world.infra_env, world.facts.now).unwrap_err();
    assert!(busy.refusal.reason.ends_with("while it is in the middle of installing."));
    assert!(busy.events.is_empty());
}

#[test]
fn another_architecture() {
    let mut world = World::new(None);
    world.bring(1);
    world.refresh();
    let record = cluster(&json!({"cpu_architecture": "arm64"}));
    let refused =
        bind_host(&world.facts.hosts[0], &world.infra_env, &record, &Policy::default(), world.facts.now);
    let refused = refused.unwrap_err().refusal;
    assert_eq!(refused.reason, "InfraEnv's CPU architecture (x86_64) doesn't match the cluster (arm64)");
    let record = cluster(&json!({"cpu_architecture": "multi"}));
    assert!(
        bind_host(&world.facts.hosts[0], &world.infra_env, &record, &Policy::default(), world.facts.now)
            .is_ok()
    );
}

#[test]
fn what_an_agent_is_told_to_start() {
    let command = next_step_runner(&Policy::default(), key(1));
    let arguments: serde_json::Value = serde_json::from_str(&command.args.unwrap()[0]).unwrap();
    assert_eq!(arguments["host_id"], key(1).host_id.to_string());
    assert_eq!(arguments["infra_env_id"], key(1).infra_env_id.to_string());
    assert_eq!(arguments["agent_version"], Policy::default().images.agent);
}

/// A disabled host does not count, is not in the way of others, and is heard all the same.
#[test]
fn a_disabled_host_takes_no_part() {
    let mut world = World::new(Some(cluster(&json!({}))));
    for number in 1..=2 {
        world.bring(number);
        // Both machines have one name.
        world.reply(number, StepType::Inventory, &inventory(1)).unwrap();
    }
    world.refresh();
    let is_unique = |world: &World, number| {
        let info = world.find(number).unwrap().report(ReportKind::ValidationsInfo).to_owned();
        info.contains(r#"{"id":"hostname-unique","status":"success""#)
    };
    assert!(!is_unique(&world, 1));
    let disabled = disable_host(world.find(2).unwrap(), world.facts.now).unwrap();
    world.write(disabled.hosts, None);
    world.refresh();
    assert!(is_unique(&world, 1));

    let before = world.host(2).clone();
    world.wait(3600);
    world.poll(1);
    let outcome = world.refresh();
    assert!(outcome.hosts.iter().all(|change| change.key == key(1)));
    assert_eq!(world.host(2).status, before.status, "silence means nothing");
    let told = steps(&view(&world.facts, key(1)).unwrap(), 0).instructions.unwrap();
    assert!(
        told.iter().all(|step| step.step_type != Some(StepType::ConnectivityCheck)),
        "nobody to look for"
    );
    let told = steps(&view(&world.facts, key(2)).unwrap(), 0);
    assert_eq!((told.instructions, told.next_instruction_seconds), (Some(vec![]), 120));

    world.register(2).unwrap();
    world.poll(2);
    assert_eq!(world.status(2), HostStatus::Disabled);
    let enabled = enable_host(world.find(2).unwrap(), world.facts.now).unwrap();
    world.write(enabled.hosts, None);
    world.refresh();
    assert_eq!(world.status(2), HostStatus::Discovering);
}
