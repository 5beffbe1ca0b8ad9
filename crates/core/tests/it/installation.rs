//! Whole installations: of every topology, to their good ends and to their bad ones.

use assisted_core::model::refusal::RefusalKind;
use std::sync::Arc;

use assisted_core::decide::cluster::{day2, finalizing, kubeconfig, operators};
use assisted_core::decide::install::{self, Generated};
use assisted_core::model::action::Action;
use assisted_core::policy::Policy;
use assisted_wire::cluster::InstallationPreparationStatus;
use assisted_wire::cluster::{ClusterKind, ClusterProgressInfo, ClusterStatus, FinalizingStage};
use assisted_wire::host::{HostRole, HostStage, HostStatus};
use assisted_wire::operator::{OperatorMonitorReport, OperatorStatus};
use assisted_wire::step::StepType;
use jiff::SignedDuration;
use serde_json::json;

use crate::world::{World, cluster, key, names, several, single_node};

/// The whole way of a cluster with as many hosts; the percentages never fall.
fn to_the_end(mut world: World) -> World {
    let (attempt, events) = world.install();
    assert!(names(&events).contains(&"host_bootstrap_set") || world.count() == 1, "{:?}", names(&events));
    assert_eq!(world.at(), ClusterStatus::PreparingForInstallation);
    for number in 1..=world.count() {
        assert_eq!(world.status(number), HostStatus::PreparingForInstallation);
    }
    let events = world.prepare(attempt);
    assert!(names(&events).contains(&"cluster_prepare_installation_started"));
    assert_eq!(world.at(), ClusterStatus::Installing);
    assert_eq!(world.progress().total_percentage, 10);
    let mut total = 10;
    for number in 1..=world.count() {
        assert_eq!(world.status(number), HostStatus::Installing);
        for stage in assisted_core::state::host::stage::of(world.host(number), Some(world.cluster())) {
            world.reach(number, stage).unwrap();
            let now = world.progress().total_percentage;
            assert!(now >= total, "{now} after {total}");
            total = now;
        }
        assert_eq!(world.status(number), HostStatus::Installed);
    }
    assert_eq!(world.at(), ClusterStatus::Finalizing);
    assert_eq!(world.progress().installing_stage_percentage, 100);
    assert_eq!(total, 80);
    let events = world.finalize();
    assert_eq!(world.at(), ClusterStatus::Installed, "{:?}", world.cluster().monitored_operators);
    assert!(names(&events).contains(&"cluster_installation_completed"));
    assert_eq!(world.cluster().status_info, "Cluster is installed");
    assert_eq!(world.progress().total_percentage, 100);
    assert_eq!(world.cluster().install_completed_at, world.cluster().status_updated_at);
    world
}

#[test]
fn a_single_node() {
    let world = to_the_end(World::ready(single_node(), 1));
    let vips = world.cluster().api_vips.as_ref().unwrap();
    assert_eq!(vips[0].ip.0, "192.168.124.11", "the node's own address");
}

#[test]
fn three_masters() {
    let world = to_the_end(World::ready(several(&json!({})), 3));
    assert!(world.host(3).bootstrap, "the last master");
    assert!(world.cluster().schedulable_masters_forced_true);
}

#[test]
fn three_masters_and_two_workers() {
    let world = to_the_end(World::ready(several(&json!({})), 5));
    assert_eq!(world.with_role(HostRole::Worker).len(), 2, "roles that were left open are fixed");
    assert!(world.cluster().feature_usage.contains("auto assign role"));
}

#[test]
fn five_masters() {
    let world = to_the_end(World::ready(several(&json!({"control_plane_count": 5})), 5));
    assert_eq!(world.with_role(HostRole::Master).len(), 5);
}

#[test]
fn two_masters_and_an_arbiter() {
    let world = to_the_end(World::ready(several(&json!({"control_plane_count": 2})), 3));
    assert_eq!(world.with_role(HostRole::Arbiter).len(), 1);
}

#[test]
fn two_masters_that_fence_each_other() {
    let world = to_the_end(World::ready_but(several(&json!({"control_plane_count": 2})), 2, |world| {
        for host in &mut world.facts.hosts {
            host.record.host.role = Some(HostRole::Master);
            host.record.host.fencing_credentials = "{}".to_owned();
        }
    }));
    assert_eq!(world.with_role(HostRole::Master).len(), 2);
}

#[test]
fn an_installation_is_refused_when_something_is_not_ready() {
    let mut world = World::ready(several(&json!({})), 3);
    world.facts.hosts[0].record.host.status = HostStatus::Insufficient;
    let refusal = install::install(&world.facts).unwrap_err();
    assert_eq!(
        (refusal.kind, refusal.reason.as_str()),
        (RefusalKind::Invalid, "Host node-1 is in status insufficient and not ready for install")
    );

    let world = World::new(Some(cluster(&json!({}))));
    let refusal = install::install(&world.facts).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Conflict);
    assert!(refusal.reason.starts_with("Cluster is not ready for installation, "), "{}", refusal.reason);
}

#[test]
fn what_a_user_ignores_is_told() {
    let mut world = World::ready(several(&json!({})), 3);
    world.facts.cluster.as_mut().unwrap().ignored_host_validations = r#"["ntp-synced"]"#.to_owned();
    let (_, events) = world.install();
    assert!(names(&events).contains(&"validations_ignored"));
    assert!(world.cluster().feature_usage.contains("Validations have been ignored for this cluster"));
}

#[test]
fn an_attempt_is_prepared_once() {
    let mut world = World::ready(several(&json!({})), 3);
    let (first, _) = world.install();
    world.generate(first, Err("no payload".to_owned()));
    let last = world.cluster().last_installation_preparation.clone().unwrap();
    assert_eq!(last.status, Some(InstallationPreparationStatus::Failed));
    assert_eq!(last.reason, "no payload");
    assert_eq!(world.at(), ClusterStatus::Ready, "it can be tried again at once");
    assert_eq!(world.status(1), HostStatus::Known);
    assert!(world.generate(first, Ok(Generated::default())).is_empty(), "given up");

    world.wait(1);
    let (second, _) = world.install();
    assert_ne!(first, second);
    assert!(world.generate(first, Err("late".to_owned())).is_empty(), "of another attempt");
    assert!(!world.generate(second, Ok(Generated::default())).is_empty());
    assert!(world.generate(second, Ok(Generated::default())).is_empty(), "told twice");
    assert_eq!(world.at(), ClusterStatus::PreparingForInstallation);
}

#[test]
fn checks_that_fail() {
    let mut world = World::ready(several(&json!({})), 3);
    let (attempt, _) = world.install();
    world.generate(attempt, Ok(Generated::default()));
    world.check_disk(2, 1);
    world.refresh();
    assert_eq!(world.status(2), HostStatus::Insufficient);
    assert_eq!(world.status(1), HostStatus::Known, "the others are ready again");
    assert_eq!(world.at(), ClusterStatus::Insufficient);

    let mut world = World::ready(several(&json!({})), 3);
    let (attempt, _) = world.install();
    world.generate(attempt, Ok(Generated::default()));
    for number in 1..=3 {
        world.check_disk(number, 0);
        world.check_images(number, if number == 2 { "failure" } else { "success" });
    }
    world.refresh();
    assert_eq!(world.at(), ClusterStatus::Ready);
    assert_eq!((world.status(1), world.status(2)), (HostStatus::Known, HostStatus::Known));
    let (attempt, _) = world.install();
    world.check_images(2, "success");
    world.prepare(attempt);
    assert_eq!(world.at(), ClusterStatus::Installing, "a later try succeeds");
}

#[test]
fn a_preparation_takes_too_long() {
    let mut world = World::ready(several(&json!({})), 3);
    let begun = world.facts.now;
    world.install();
    for number in 1..=3 {
        world.check_disk(number, 0);
        world.check_images(number, "success");
    }
    let next = world.refresh().next_check.unwrap();
    assert!(
        next <= begun + SignedDuration::from_mins(3) + SignedDuration::from_secs(1),
        "silence comes first"
    );
    assert_eq!(world.status(1), HostStatus::PreparingSuccessful);
    world.until(begun + SignedDuration::from_mins(18));
    world.refresh();
    assert_eq!(world.at(), ClusterStatus::PreparingForInstallation);
    world.until(begun + SignedDuration::from_mins(18) + SignedDuration::from_millis(1));
    let told = world.refresh().events;
    assert!(names(&told).contains(&"installation_preparing_timed_out"));
    assert_eq!(world.at(), ClusterStatus::Ready);
    assert_eq!(world.status(1), HostStatus::Known);
}

#[test]
fn a_host_boots_anew_while_it_is_prepared() {
    let mut world = World::ready(several(&json!({})), 3);
    let (attempt, _) = world.install();
    world.generate(attempt, Ok(Generated::default()));
    world.register(1).unwrap();
    let last = world.cluster().last_installation_preparation.clone().unwrap();
    assert_eq!(last.status, Some(InstallationPreparationStatus::NotStarted));
    world.poll(1);
    world.refresh();
    for number in 1..=3 {
        world.check_disk(number, 0);
        world.check_images(number, "success");
    }
    world.refresh();
    assert_eq!(world.at(), ClusterStatus::Installing, "what was generated stays good");
    let last = world.cluster().last_installation_preparation.clone().unwrap();
    assert_eq!(last.status, Some(InstallationPreparationStatus::Success));
}

#[test]
fn a_master_fails() {
    let mut world = World::installing(several(&json!({})), 5);
    let master = world.with_role(HostRole::Master)[0];
    let worker = world.with_role(HostRole::Worker)[0];
    world.advance(worker, HostStage::Done);
    let events = world.reach(master, HostStage::Failed).unwrap();
    assert_eq!(world.at(), ClusterStatus::Error);
    assert_eq!(world.cluster().status_info, "cluster has hosts in error");
    let failure = events.iter().find(|event| event.name == "cluster_installation_failed").unwrap();
    assert_eq!(failure.message, "Failed installing cluster. Reason: cluster has hosts in error");
    for number in 1..=5 {
        assert_eq!(world.status(number), HostStatus::Error, "one for all");
    }
    assert_eq!(world.host(worker).status_info, "Host is part of a cluster that failed to install");
}

#[test]
fn workers_fail() {
    let mut world = World::installing(several(&json!({})), 6);
    let workers = world.with_role(HostRole::Worker);
    world.reach(workers[0], HostStage::Failed).unwrap();
    assert_eq!(world.at(), ClusterStatus::Installing, "two are left");
    for number in (1..=6).filter(|number| *number != workers[0]) {
        world.advance(number, HostStage::Done);
    }
    world.finalize();
    assert_eq!(world.at(), ClusterStatus::Installed);
    assert_eq!(world.cluster().status_info, "Cluster is installed but some workers did not join");

    let mut world = World::installing(several(&json!({})), 5);
    let workers = world.with_role(HostRole::Worker);
    world.reach(workers[0], HostStage::Failed).unwrap();
    assert_eq!(world.at(), ClusterStatus::Error, "one is not enough of two");
}

#[test]
fn an_operator_fails() {
    let mut world = World::installing(several(&json!({})), 3);
    // What the machines must have for them is another matter.
    let operators_of_cluster = json!([
        {"name": "console", "operator_type": "builtin"},
        {"name": "lso", "operator_type": "olm"},
        {"name": "odf", "operator_type": "olm"},
    ]);
    let record = world.facts.cluster.as_mut().unwrap();
    record.cluster.monitored_operators = serde_json::from_value(operators_of_cluster).unwrap();
    (1..=3).for_each(|number| world.advance(number, HostStage::Done));
    assert_eq!(world.at(), ClusterStatus::Finalizing);
    let decided = kubeconfig::stored(&world.facts);
    world.take(decided);
    let share = |world: &World| world.progress().finalizing_stage_percentage;
    let told = world.operator("lso", OperatorStatus::Failed);
    assert_eq!(told[0].message, "Operator lso status: failed message: ");
    assert_eq!(share(&world), 33);
    world.operator("console", OperatorStatus::Failed);
    assert_eq!(share(&world), 33, "one that belongs to the cluster must not fail");
    world.operator("odf", OperatorStatus::Available);
    assert_eq!(share(&world), 66);
    let told = world.operator("console", OperatorStatus::Available);
    assert_eq!(world.at(), ClusterStatus::Installed);
    assert_eq!(world.cluster().status_info, "Cluster is installed but degraded. Failed OLM operators: lso");
    assert!(names(&told).contains(&"cluster_degraded_OLM_operators_failed"));

    let report = |name: &str| {
        let report = OperatorMonitorReport { name: name.to_owned(), ..Default::default() };
        operators::report(&world.facts, &report).unwrap_err()
    };
    assert_eq!((report("").kind, report("nobody").kind), (RefusalKind::Invalid, RefusalKind::NotFound));
}

#[test]
fn finalizing_stages() {
    let mut world = World::installing(several(&json!({})), 3);
    (1..=3).for_each(|number| world.advance(number, HostStage::Done));
    let decided = finalizing::report(&world.facts, FinalizingStage::AddingRouterCa).unwrap();
    assert_eq!(names(&decided.events), ["cluster_finalizing_stage_updated"]);
    world.take(decided);
    world.wait(60);
    let again = finalizing::report(&world.facts, FinalizingStage::AddingRouterCa).unwrap();
    assert!(again.events.is_empty() && again.cluster.is_none());
    let begun = world.progress().finalizing_stage_started_at.0;
    assert_eq!(
        again.next_check,
        Some(begun + SignedDuration::from_mins(70) + SignedDuration::from_millis(1))
    );
    world.facts.now = again.next_check.unwrap();
    world.refresh();
    assert_eq!(world.at(), ClusterStatus::Error);
    assert_eq!(
        world.cluster().status_info,
        "Cluster finalizing stage 'Adding router ca' has been timed out after timeout duration of 70 minutes"
    );
    let refusal = finalizing::report(&world.facts, FinalizingStage::Done).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Invalid);
}

#[test]
fn soft_limits_only_warn() {
    let mut world = World::installing(several(&json!({"org_soft_timeouts_enabled": true})), 3);
    let mut policy = Policy::default();
    policy.hosts.enable_soft_timeouts = true;
    world.facts.policy = Arc::new(policy);
    (1..=3).for_each(|number| world.advance(number, HostStage::Done));
    let decided = finalizing::report(&world.facts, FinalizingStage::WaitingForClusterOperators).unwrap();
    let next = decided.next_check.unwrap();
    world.take(decided);
    assert_eq!(next, world.facts.now + SignedDuration::from_mins(70) + SignedDuration::from_millis(1));
    world.facts.now = next;
    let told = world.refresh().events;
    assert_eq!(names(&told), ["finalizing_stage_timed_out"]);
    assert_eq!(world.at(), ClusterStatus::Finalizing);
    world.finalize();
    assert_eq!(world.at(), ClusterStatus::Installed);
}

#[test]
fn a_host_boots_the_wrong_device() {
    let mut world = World::installing(several(&json!({})), 3);
    let host = world.with_role(HostRole::Master)[0];
    world.advance(host, HostStage::Rebooting);
    world.register(host).unwrap();
    world.refresh();
    assert_eq!(world.status(host), HostStatus::InstallingPendingUserAction);
    assert_eq!(world.at(), ClusterStatus::InstallingPendingUserAction);
    assert_eq!(world.cluster().status_info, "Cluster has hosts pending user action");
    world.reach(host, HostStage::Joined).unwrap();
    assert_eq!(world.status(host), HostStatus::InstallingInProgress);
    assert_eq!(world.at(), ClusterStatus::Installing);
}

#[test]
fn cancelled_and_reset() {
    let mut world = World::installing(several(&json!({})), 3);
    world.reach(1, HostStage::StartingInstallation).unwrap();
    let decided = install::cancel(&world.facts).unwrap();
    assert_eq!(decided.next_check, Some(world.facts.now));
    let told = world.take(decided);
    assert_eq!(names(&told).iter().filter(|name| **name == "host_installation_cancelled").count(), 3);
    assert!(names(&told).contains(&"cluster_installation_canceled"));
    world.refresh();
    assert_eq!(world.at(), ClusterStatus::Cancelled);
    assert_eq!(world.cluster().status_info, "Installation was cancelled by user");
    assert!(world.facts.hosts.iter().all(|host| host.record.host.status == HostStatus::Cancelled));
    let again = install::cancel(&world.facts).unwrap_err();
    assert_eq!(again.refusal.kind, RefusalKind::Conflict);
    assert_eq!(names(&again.events), ["cancel_installation_failed"]);

    let decided = install::reset(&world.facts).unwrap();
    let id = world.cluster().id;
    assert_eq!(decided.actions, [Action::DeleteGenerated { cluster_id: id }]);
    let told = world.take(decided);
    assert!(names(&told).contains(&"cluster_installation_reset"));
    assert_eq!(world.cluster().status_info, "cluster was reset by user");
    assert_eq!(world.progress(), ClusterProgressInfo::default());
    world.refresh();
    assert_eq!(world.at(), ClusterStatus::Insufficient);
    assert!(
        world
            .facts
            .hosts
            .iter()
            .all(|host| host.record.host.status == HostStatus::ResettingPendingUserAction)
    );
    for number in 1..=3 {
        world.bring(number);
        world.refresh();
    }
    assert_eq!(world.at(), ClusterStatus::Ready, "roles and networks stay: it can be installed again");
    to_the_end(world);
}

#[test]
fn cancelled_while_it_is_prepared() {
    let mut world = World::ready(several(&json!({})), 3);
    let (attempt, _) = world.install();
    let decided = install::cancel(&world.facts).unwrap();
    world.take(decided);
    assert_eq!(world.cluster().status_info, "Installation was cancelled by user", "as the answer shows it");
    world.refresh();
    assert_eq!((world.at(), world.status(1)), (ClusterStatus::Ready, HostStatus::Known));
    assert!(world.generate(attempt, Ok(Generated::default())).is_empty());
    assert_eq!(world.at(), ClusterStatus::Ready);
}

#[test]
fn one_host_that_refuses_refuses_for_all() {
    let mut world = World::ready(several(&json!({})), 3);
    world.install();
    world.facts.hosts[2].record.host.status = HostStatus::Disconnected;
    let before = world.facts.clone();
    let refused = install::reset(&world.facts).unwrap_err();
    assert_eq!(refused.refusal.kind, RefusalKind::Conflict);
    let told = names(&refused.events);
    assert_eq!(told.last(), Some(&"reset_installation_failed"));
    assert!(told.contains(&"host_installation_reset_failed") && told.contains(&"host_installation_reset"));
    assert_eq!(before.cluster, world.facts.cluster);
}

#[test]
fn hosts_are_added_to_an_installed_cluster() {
    let mut world = to_the_end(World::ready(several(&json!({})), 3));
    let early = World::ready(several(&json!({})), 3);
    let refusal = day2::transform(&early.facts).unwrap_err();
    let id = early.cluster().id;
    assert_eq!(
        (refusal.kind, refusal.reason),
        (
            RefusalKind::Invalid,
            format!(
                "cannot transform cluster {id} to day2. Expected cluster status: installed, but cluster status is: ready"
            )
        )
    );
    let (info, updated) = (world.cluster().status_info.clone(), world.cluster().status_updated_at);
    let decided = day2::transform(&world.facts).unwrap();
    assert!(world.take(decided).is_empty());
    assert_eq!(
        (world.at(), world.cluster().kind),
        (ClusterStatus::AddingHosts, ClusterKind::AddHostsCluster)
    );
    assert_eq!(world.cluster().api_vip_dns_name.as_deref(), Some("192.168.124.3"));
    assert_eq!((&world.cluster().status_info, world.cluster().status_updated_at), (&info, updated));
    assert_eq!(world.status(1), HostStatus::Installed);

    world.bring(4);
    let reached = json!({"is_success": true, "ignition": "{\"ignition\":{\"version\":\"3.2.0\"}}"});
    world.reply(4, StepType::ApiVipConnectivityCheck, &reached).unwrap();
    world.refresh();
    assert_eq!(world.status(4), HostStatus::Known, "{}", world.host(4).status_info);
    assert_eq!(
        install::install_host(&world.facts, key(1)).unwrap_err().kind,
        RefusalKind::Conflict,
        "installed already"
    );
    let decided = install::install_host(&world.facts, key(4)).unwrap();
    world.take(decided);
    assert_eq!(world.status(4), HostStatus::Installing);
    world.advance(4, HostStage::Rebooting);
    assert_eq!(world.status(4), HostStatus::AddedToExistingCluster);
    assert_eq!(world.at(), ClusterStatus::AddingHosts);
}

#[test]
fn a_payload_is_known_before_everything_is_generated() {
    let mut world = World::ready(several(&json!({})), 3);
    world.install();
    let images =
        assisted_core::model::cluster::PayloadImages { mco: "quay.io/mco".to_owned(), ..Default::default() };
    let decided = install::payload_read(&world.facts, images.clone());
    world.take(decided);
    assert_eq!(world.facts.cluster.as_ref().unwrap().payload, images);
    assert_eq!(world.at(), ClusterStatus::PreparingForInstallation);
}
