//! Every row of every table, each by a case of its own.

use std::collections::BTreeSet;
use std::sync::Arc;

use assisted_wire::cluster::ClusterStatus::{self, *};
use assisted_wire::cluster::FinalizingStage::{self, *};
use assisted_wire::cluster::{InstallationPreparationStatus as Preparation, LogsState};
use assisted_wire::host::{HostRole, HostStatus as H};
use jiff::SignedDuration;
use serde_json::json;

use super::condition::View;
use super::effect::restart_stage;
use super::refresh::{Changed, next_check, refresh, request};
use super::transition::{CANCEL, INSTALL, REFRESH, RESET};
use super::{preparation, progress};
use crate::model::action::SubscriptionUpdate;
use crate::model::event::NewEvent;
use crate::model::facts::Facts;
use crate::policy::Policy;
use crate::validation::cluster::evaluate;
use crate::validation::testing::{facts, inventory};

/// A cluster in a state since two minutes, its installation begun an hour ago, with three masters and further workers.
fn cluster(status: ClusterStatus, hosts: &[H]) -> Facts {
    let mut facts = facts(hosts.len());
    for (place, (host, status)) in facts.hosts.iter_mut().zip(hosts).enumerate() {
        host.record.host.role = Some(if place < 3 { HostRole::Master } else { HostRole::Worker });
        host.record.host.status = *status;
    }
    let now = facts.now;
    facts.with_cluster(|cluster| {
        cluster.status = status;
        cluster.status_info = "as before".to_owned();
        cluster.status_updated_at = (now - SignedDuration::from_mins(2)).into();
        cluster.install_started_at = (now - SignedDuration::from_mins(60)).into();
    })
}

/// The same, of one node.
fn single(status: ClusterStatus, host: H) -> Facts {
    let mut facts = cluster(status, &[host])
        .with_inventory(&inventory().address("10.0.0.5/24"))
        .with_machine_networks(&["10.0.0.0/24"])
        .with_cluster(|cluster| {
            cluster.control_plane_count = 1;
            cluster.user_managed_networking = Some(true);
            cluster.platform = serde_json::from_value(json!({"type": "none"})).unwrap();
            cluster.ntp_sources = "time.example.com".to_owned();
        });
    facts.hosts[0].record.host.bootstrap = true;
    facts.hosts[0].put_report(
        crate::model::report::ReportKind::NtpSources,
        r#"[{"source_name":"t","source_state":"synced"}]"#.into(),
    );
    facts
}

fn generated(mut facts: Facts) -> Facts {
    let record = facts.cluster.as_mut().unwrap();
    record.generated_for = Some(record.cluster.install_started_at.0.into());
    facts
}

/// The service makes the DNS records of the cluster's domain.
fn managed(mut facts: Facts) -> Facts {
    let domain = facts.test_cluster().base_dns_domain.clone();
    Arc::make_mut(&mut facts.policy).clusters.managed_domains.insert(domain);
    facts
}

fn failed_to_generate(facts: Facts) -> Facts {
    facts.with_cluster(|cluster| preparation::set(cluster, Preparation::Failed, "because"))
}

/// In its state for so long.
fn since(facts: Facts, minutes: i64) -> Facts {
    let then = facts.now - SignedDuration::from_mins(minutes);
    facts.with_cluster(|cluster| cluster.status_updated_at = then.into())
}

/// Being installed for so long.
fn begun(facts: Facts, minutes: i64) -> Facts {
    let then = facts.now - SignedDuration::from_mins(minutes);
    facts.with_cluster(|cluster| cluster.install_started_at = then.into())
}

fn soft(mut facts: Facts) -> Facts {
    let mut policy = Policy::default();
    policy.hosts.enable_soft_timeouts = true;
    facts.policy = Arc::new(policy);
    facts.with_cluster(|cluster| cluster.org_soft_timeouts_enabled = true)
}

/// In a finalizing stage for so long.
fn staged(facts: Facts, stage: FinalizingStage, minutes: i64) -> Facts {
    let then = facts.now - SignedDuration::from_mins(minutes);
    facts.with_cluster(|cluster| {
        cluster.progress.get_or_insert_default().finalizing_stage = Some(stage);
        restart_stage(cluster, then.into());
    })
}

fn settled(mut facts: Facts) -> Facts {
    facts.cluster.as_mut().unwrap().kubeconfig_stored = true;
    facts
}

/// The account service keeps a subscription of the cluster.
fn subscribed(mut facts: Facts) -> Facts {
    Arc::make_mut(&mut facts.policy).service.subscriptions = true;
    facts.with_cluster(|cluster| cluster.ams_subscription_id = Some("2KJx".to_owned()))
}

/// It knows where the console is.
fn console_told(mut facts: Facts) -> Facts {
    facts.cluster.as_mut().unwrap().subscription.tell(SubscriptionUpdate::ConsoleUrl);
    facts
}

/// It knows that the cluster is installed.
fn active(mut facts: Facts) -> Facts {
    facts.cluster.as_mut().unwrap().subscription.tell(SubscriptionUpdate::Active);
    console_told(facts)
}

/// The image of the control plane is not what a node boots.
fn image_failed(facts: Facts) -> Facts {
    image_failed_by("boot", facts)
}

fn image_failed_by(code: &str, mut facts: Facts) -> Facts {
    let build = json!({
        "pool": "master", "location": "bootstrap", "state": "failed", "attempt": 1, "error_code": code, "error": "node m-0 boots x",
    });
    facts.cluster.as_mut().unwrap().layering.builds = vec![serde_json::from_value(build).unwrap()];
    facts
}

fn dhcp(facts: Facts) -> Facts {
    facts.with_cluster(|cluster| cluster.vip_dhcp_allocation = Some(true))
}

/// The row of the refresh that applies.
fn row(facts: &Facts) -> Option<usize> {
    let record = facts.cluster.as_ref().unwrap();
    let results = evaluate(facts);
    let (hosts, policy, now) = (&facts.hosts, &facts.policy, facts.now);
    let view = View { record, hosts, policy, now, results: &results };
    REFRESH.iter().position(|rule| {
        rule.from.contains(&record.cluster.status) && rule.when.holds(&|condition| condition.holds(&view))
    })
}

fn names(events: &[NewEvent]) -> Vec<&str> {
    let machine = events.iter().filter(|event| !event.name.starts_with("cluster_validation"));
    machine.map(|event| event.name).collect()
}

const CHANGED: &str = "cluster_status_updated";
const FAILED: &str = "cluster_installation_failed";
const IMAGE: &str = "OS image build failed for pool master: node m-0 boots x";

/// The row that applies, the cluster, and what becomes of it: state, text (empty: as before), events.
type Case = (usize, Facts, ClusterStatus, &'static str, &'static [&'static str]);

fn cases() -> Vec<Case> {
    use H::{
        Error as Failed, Installed as Done, Installing as Begun, InstallingInProgress as Busy,
        InstallingPendingUserAction as Stuck, Known, PreparingFailed as Unfit,
        PreparingForInstallation as Checked, PreparingSuccessful as Fit,
    };
    let ok = |count: usize| vec![Fit; count];
    let prep = PreparingForInstallation;
    let ipua = InstallingPendingUserAction;
    let day = 24 * 60;
    let (pending, insufficient) = ("User input required", "Cluster is not ready for install");
    let defined = || cluster(Ready, &[]).with_machine_networks(&["10.0.0.0/24"]);
    let vips = |facts: Facts| facts.with_vips(&["10.0.0.8"], &["10.0.0.9"]);
    vec![
        (0, cluster(Ready, &[]), PendingForInput, pending, &[CHANGED]),
        (0, cluster(PendingForInput, &[]), PendingForInput, pending, &[]),
        (1, vips(defined()), Insufficient, insufficient, &[CHANGED]),
        (2, dhcp(cluster(Insufficient, &[])), PendingForInput, pending, &[CHANGED]),
        (3, dhcp(defined()), Insufficient, insufficient, &[CHANGED]),
        (3, dhcp(vips(defined())), Insufficient, insufficient, &[CHANGED]),
        (4, single(Insufficient, Known), Ready, "Cluster ready to be installed", &[CHANGED]),
        // Preparation: 18 minutes, and what its hosts and the generation come to.
        (
            5,
            since(generated(cluster(prep, &ok(3))), 19),
            Ready,
            "Preparing cluster for installation timeout",
            &[CHANGED, "installation_preparing_timed_out"],
        ),
        (6, generated(cluster(prep, &ok(5))), Installing, "Installation in progress", &[CHANGED]),
        (6, generated(single(prep, Fit)), Installing, "Installation in progress", &[CHANGED]),
        (7, managed(generated(cluster(prep, &ok(3)))), prep, "", &[]),
        (
            8,
            cluster(prep, &[Fit, Checked, H::Disconnected]),
            Insufficient,
            "At least one host has stopped preparing for installation",
            &[CHANGED],
        ),
        (
            9,
            since(generated(cluster(prep, &[Fit, Fit, Unfit])), 19),
            Ready,
            "Cluster failed to prepare for installation",
            &[CHANGED],
        ),
        (
            9,
            failed_to_generate(generated(cluster(prep, &ok(3)))),
            Ready,
            "Cluster failed to prepare for installation",
            &[CHANGED],
        ),
        (28, since(cluster(prep, &ok(3)), 18), prep, "", &[]),
        (28, generated(cluster(prep, &[Fit, Fit, Known])), prep, "", &[]),
        // What waits for a person.
        (10, cluster(ipua, &[Done, Stuck, Failed]), Error, "cluster has hosts in error", &[CHANGED, FAILED]),
        (
            11,
            begun(cluster(ipua, &[Done, Stuck, Done]), day + 1),
            Error,
            "cluster installation timed out while pending user action (a manual booting from installation disk)",
            &[CHANGED, FAILED],
        ),
        (16, begun(cluster(ipua, &[Done, Stuck, Done]), day), ipua, "", &[]),
        (17, cluster(ipua, &[Done, Busy, Done]), Installing, "Installation in progress", &[CHANGED]),
        (17, single(ipua, Busy), Installing, "Installation in progress", &[CHANGED]),
        (18, cluster(ipua, &[Done, Done, Done]), Finalizing, "Finalizing cluster installation", &[CHANGED]),
        (
            19,
            cluster(Installing, &[Busy, Stuck, Done]),
            ipua,
            "Cluster has hosts pending user action",
            &[CHANGED],
        ),
        (
            19,
            cluster(Finalizing, &[Done, Done, Done, Stuck]),
            ipua,
            "Cluster has hosts pending user action",
            &[CHANGED],
        ),
        // Limits of an installation.
        (
            12,
            soft(begun(cluster(Installing, &[Busy; 3]), day + 1)),
            Error,
            "cluster installation timeout (1440 minutes) has expired",
            &[CHANGED, FAILED],
        ),
        (
            12,
            settled(soft(begun(cluster(Finalizing, &[Done; 3]), day + 1))),
            Error,
            "cluster installation timeout (1440 minutes) has expired",
            &[CHANGED, FAILED],
        ),
        (21, begun(cluster(Installing, &[Busy; 3]), day + 1), Installing, "Installation in progress", &[]),
        (
            13,
            since(cluster(Finalizing, &[Done; 3]), 301),
            Error,
            "Cluster installation timeout while finalizing",
            &[CHANGED, FAILED],
        ),
        (28, soft(since(cluster(Finalizing, &[Done; 3]), 301)), Finalizing, "", &[]),
        (
            14,
            staged(cluster(Finalizing, &[Done; 3]), AddingRouterCa, 71),
            Error,
            "Cluster finalizing stage 'Adding router ca' has been timed out after timeout duration of 70 minutes",
            &[CHANGED, FAILED],
        ),
        (28, staged(cluster(Finalizing, &[Done; 3]), AddingRouterCa, 70), Finalizing, "", &[]),
        (
            15,
            staged(cluster(Finalizing, &[Done; 3]), ApplyingOlmManifests, 11),
            Finalizing,
            "Cluster finalizing stage 'Applying olm manifests' is taking longer than the expected duration (10 minutes). To troubleshoot use kubeconfig or connect to any node using ssh",
            &["finalizing_stage_timed_out"],
        ),
        (
            15,
            settled(soft(staged(cluster(Finalizing, &[Done; 3]), WaitingForClusterOperators, 71))),
            Finalizing,
            "Cluster finalizing stage 'Waiting for cluster operators' is taking longer than the expected duration (70 minutes). To troubleshoot use kubeconfig or connect to any node using ssh",
            &["finalizing_stage_timed_out"],
        ),
        // The end.
        (
            20,
            cluster(Installing, &[Done, Done, Done, Busy]),
            Finalizing,
            "Finalizing cluster installation",
            &[CHANGED],
        ),
        (21, cluster(Installing, &[Done, Begun, Done]), Installing, "Installation in progress", &[]),
        (
            22,
            settled(cluster(Finalizing, &[Done; 5])),
            Installed,
            "Cluster is installed",
            &[CHANGED, "cluster_installation_completed"],
        ),
        (
            22,
            settled(cluster(Finalizing, &[Done, Done, Done, Done, Done, Failed])),
            Installed,
            "Cluster is installed but some workers did not join",
            &[CHANGED, "cluster_installation_completed"],
        ),
        (28, cluster(Finalizing, &[Done; 5]), Finalizing, "", &[]),
        (28, settled(cluster(Finalizing, &[Done, Done, Done, Busy])), Finalizing, "", &[]),
        (
            23,
            cluster(Installing, &[Busy, Busy, Failed]),
            Error,
            "cluster has hosts in error",
            &[CHANGED, FAILED],
        ),
        (
            23,
            cluster(Installing, &[Busy, Busy, Busy, Busy, Failed]),
            Error,
            "cluster has hosts in error",
            &[CHANGED, FAILED],
        ),
        (24, since(cluster(Error, &[Failed; 3]), 11), Error, "", &[]),
        (24, since(cluster(Cancelled, &[]), 11), Cancelled, "", &[]),
        // Images of nodes: while hosts are installed, those that wait for one fail with it.
        (
            21,
            image_failed_by("deploy", cluster(Installing, &[Busy; 3])),
            Installing,
            "Installation in progress",
            &[],
        ),
        (23, image_failed(cluster(Installing, &[Busy; 3])), Error, IMAGE, &[CHANGED, FAILED]),
        (23, image_failed(cluster(Installing, &[Busy, Busy, Failed])), Error, IMAGE, &[CHANGED, FAILED]),
        (25, image_failed(cluster(Finalizing, &[Done; 5])), Error, IMAGE, &[CHANGED, FAILED]),
        // What the account service is told first.
        (26, subscribed(cluster(Finalizing, &[Done; 5])), Finalizing, "", &[]),
        (27, console_told(settled(subscribed(cluster(Finalizing, &[Done; 5])))), Finalizing, "", &[]),
        (
            22,
            active(settled(subscribed(cluster(Finalizing, &[Done; 5])))),
            Installed,
            "Cluster is installed",
            &[CHANGED, "cluster_installation_completed"],
        ),
        (28, console_told(subscribed(cluster(Finalizing, &[Done; 5]))), Finalizing, "", &[]),
        (28, image_failed(since(cluster(Error, &[Failed; 3]), 10)), Error, "", &[]),
        (28, since(cluster(Error, &[Failed; 3]), 10), Error, "", &[]),
        (28, since(cluster(Installed, &[Done; 3]), 11), Installed, "", &[]),
        (28, cluster(AddingHosts, &[Known]), AddingHosts, "", &[]),
        (28, cluster(Unmonitored, &[]), Unmonitored, "", &[]),
    ]
}

#[test]
fn every_row_of_the_refresh() {
    let mut hit = BTreeSet::new();
    for (number, (expected, mut facts, status, info, events)) in cases().into_iter().enumerate() {
        assert_eq!(row(&facts), Some(expected), "case {number}");
        hit.insert(expected);
        let before = facts.test_cluster().clone();
        let mut told = Vec::new();
        refresh(&mut facts, &mut told);
        let now = facts.now;
        let cluster = facts.test_cluster();
        assert_eq!(cluster.status, status, "case {number}");
        assert_eq!(cluster.status_info, if info.is_empty() { "as before" } else { info }, "case {number}");
        assert_eq!(names(&told), events, "case {number}");
        let changed = before.status != status;
        assert_eq!(cluster.status_updated_at, if changed { now.into() } else { before.status_updated_at });
        let ended = changed && matches!(status, Installed | Error | Cancelled);
        let completed = if ended { now.into() } else { before.install_completed_at };
        assert_eq!(cluster.install_completed_at, completed, "case {number}");
        // Looking on at the same moment comes to an end, and reports a failure once.
        (0..3).for_each(|_| {
            refresh(&mut facts, &mut told);
        });
        assert!(names(&told).iter().filter(|name| **name == FAILED).count() <= 1, "case {number}");
        told.clear();
        let settled = facts.cluster.clone();
        assert_eq!(refresh(&mut facts, &mut told), Changed::Nothing, "case {number}");
        assert!(told.is_empty(), "case {number}");
        assert_eq!(facts.cluster, settled, "case {number}");
    }
    assert_eq!(hit, (0..REFRESH.len()).collect(), "a row that no case hits");
}

#[test]
fn every_state_is_ruled() {
    for status in ClusterStatus::ALL {
        for hosts in [
            vec![],
            vec![H::Installed; 3],
            vec![H::Error; 3],
            vec![H::InstallingPendingUserAction; 3],
            vec![H::Installing; 3],
        ] {
            assert!(row(&cluster(*status, &hosts)).is_some(), "{status} with {hosts:?}");
        }
    }
}

/// Clusters begin to be described, to get further hosts, or to be none of the service's; from there rules lead into every
/// state, and out of all that are not an end.
#[test]
fn every_state_is_reached_and_left() {
    let rules = || [INSTALL, CANCEL, RESET, REFRESH].into_iter().flatten();
    let next = |state: ClusterStatus| {
        let leaving = rules().filter(move |rule| rule.from.contains(&state)).filter_map(|rule| rule.to);
        leaving.filter(move |to| *to != state)
    };
    let mut reached = vec![Insufficient, AddingHosts, Unmonitored];
    let mut looked = 0;
    while let Some(state) = reached.get(looked).copied() {
        for to in next(state) {
            if !reached.contains(&to) {
                reached.push(to);
            }
        }
        looked += 1;
    }
    assert_eq!(reached.len(), ClusterStatus::ALL.len(), "{reached:?}");
    let ends: Vec<_> = ClusterStatus::ALL.iter().filter(|state| next(**state).next().is_none()).collect();
    assert_eq!(ends, [&Installed, &AddingHosts, &Unmonitored]);
}

#[test]
fn effects() {
    let look = |mut facts: Facts| {
        refresh(&mut facts, &mut Vec::new());
        facts
    };
    let timed_out = look(since(cluster(PreparingForInstallation, &[H::PreparingSuccessful; 3]), 19));
    let last = timed_out.cluster.unwrap().cluster.last_installation_preparation.unwrap();
    assert_eq!(last.status, Some(Preparation::Failed));
    assert_eq!(last.reason, "Installation failed. Try again, and contact support if the issue persists.");

    let single =
        look(generated(single(PreparingForInstallation, H::PreparingSuccessful))).cluster.unwrap().cluster;
    assert_eq!(single.api_vips.unwrap()[0].ip.0, "10.0.0.5");
    assert_eq!(single.ingress_vips.unwrap()[0].ip.0, "10.0.0.5");
    let known = single.progress.unwrap();
    assert_eq!((known.preparing_for_installation_stage_percentage, known.total_percentage), (100, 10));
    assert_eq!(single.last_installation_preparation.unwrap().status, Some(Preparation::Success));

    let mut early = generated(self::single(PreparingForInstallation, H::PreparingSuccessful));
    let known = &mut early.cluster.as_mut().unwrap().cluster.progress;
    known.get_or_insert_default().finalizing_stage_percentage = 100;
    let known = look(early).cluster.unwrap().cluster.progress.unwrap();
    assert_eq!(known.total_percentage, 25, "operators that were early count");

    let back = look(staged(cluster(InstallingPendingUserAction, &[H::Installed; 3]), AddingRouterCa, 30));
    let now = back.now;
    assert_eq!(back.cluster.unwrap().cluster.progress.unwrap().finalizing_stage_started_at, now.into());

    let slow = look(staged(cluster(Finalizing, &[H::Installed; 3]), ApplyingOlmManifests, 11));
    assert!(slow.cluster.as_ref().unwrap().cluster.progress.as_ref().unwrap().finalizing_stage_timed_out);
    let done = look(settled(slow)).cluster.unwrap().cluster;
    assert_eq!(done.status, Installed, "told once, it goes on");
    let known = done.progress.unwrap();
    assert_eq!((known.finalizing_stage_percentage, known.total_percentage), (100, 100));

    let silent = look(since(cluster(Error, &[]), 11));
    assert_eq!(silent.cluster.unwrap().cluster.logs_info, Some(LogsState::Timeout));
}

/// A single node without an address in the machine network waits: nobody would find it.
#[test]
fn a_single_node_needs_an_address() {
    let lost = |facts: Facts| facts.with_machine_networks(&["10.9.0.0/24"]);
    assert_eq!(row(&lost(generated(single(PreparingForInstallation, H::PreparingSuccessful)))), Some(28));
    assert_eq!(row(&lost(single(InstallingPendingUserAction, H::InstallingInProgress))), None);
}

#[test]
fn what_users_ask_for() {
    let asked = |table, status: ClusterStatus| {
        let (mut facts, mut events) = (cluster(status, &[]), Vec::new());
        let found = request(&mut facts, table, &mut events);
        let cluster = facts.cluster.unwrap().cluster;
        found.then(|| (cluster.status, cluster.status_info, names(&events).join(" ")))
    };
    for status in ClusterStatus::ALL {
        let prepares =
            (PreparingForInstallation, "Preparing cluster for installation".to_owned(), CHANGED.to_owned());
        assert_eq!(asked(INSTALL, *status), (*status == Ready).then_some(prepares), "{status}");

        let cancelled = |to| {
            let told = "cluster_status_updated cluster_installation_canceled".to_owned();
            Some((to, "Installation was cancelled by user".to_owned(), told))
        };
        let expected = match status {
            Installing | InstallingPendingUserAction | Error | Finalizing => cancelled(Cancelled),
            PreparingForInstallation => cancelled(Ready),
            _ => None,
        };
        assert_eq!(asked(CANCEL, *status), expected, "{status}");

        let resettable =
            [PreparingForInstallation, Installing, InstallingPendingUserAction, Error, Cancelled, Finalizing];
        let told = "cluster_status_updated cluster_installation_reset".to_owned();
        let reset = (Insufficient, "cluster was reset by user".to_owned(), told);
        assert_eq!(asked(RESET, *status), resettable.contains(status).then_some(reset), "{status}");
    }
}

#[test]
fn a_reset_forgets() {
    let mut facts = settled(generated(staged(single(Finalizing, H::Installed), AddingRouterCa, 1)))
        .with_vips(&["10.0.0.5"], &["10.0.0.5"])
        .with_cluster(|cluster| {
            cluster.logs_info = Some(LogsState::Collecting);
            cluster.openshift_cluster_id = Some(uuid::Uuid::nil());
            progress::prepared(cluster);
        });
    assert!(request(&mut facts, RESET, &mut Vec::new()));
    let record = facts.cluster.unwrap();
    assert_eq!((record.generated_for, record.kubeconfig_stored), (None, false));
    let cluster = record.cluster;
    assert_eq!(cluster.progress, Some(assisted_wire::cluster::ClusterProgressInfo::default()));
    assert_eq!((cluster.logs_info, cluster.openshift_cluster_id), (None, None));
    assert_eq!((cluster.api_vips, cluster.ingress_vips), (Some(vec![]), Some(vec![])));
    let last = cluster.last_installation_preparation.unwrap();
    assert_eq!(last.status, Some(Preparation::NotStarted));
    assert_eq!(last.reason, "Installation preparation not performed");
    assert!(cluster.machine_networks.is_some_and(|networks| !networks.is_empty()), "networks stay");
}

/// The clock brings about what the rules say at exactly the moment that was announced.
#[test]
fn limits_are_announced() {
    let moment = SignedDuration::from_millis(1);
    let after = |facts: &Facts, minutes: i64| Some(facts.now + SignedDuration::from_mins(minutes) + moment);
    let prepares = cluster(PreparingForInstallation, &[H::PreparingSuccessful; 3]);
    assert_eq!(next_check(&prepares), after(&prepares, 16));
    let installs = cluster(Installing, &[H::Installing; 3]);
    assert_eq!(next_check(&installs), after(&installs, 23 * 60));
    let finalizes = staged(cluster(Finalizing, &[H::Installed; 3]), AddingRouterCa, 60);
    assert_eq!(next_check(&finalizes), after(&finalizes, 10));
    let late = staged(cluster(Finalizing, &[H::Installed; 3]), AddingRouterCa, 80);
    assert_eq!(next_check(&late), after(&late, 298), "what passed is no reason to look again");
    let failed = cluster(Error, &[]);
    assert_eq!(next_check(&failed), after(&failed, 8));
    assert_eq!(next_check(&cluster(Installed, &[])), None);
    assert_eq!(next_check(&cluster(Ready, &[])), None);

    for mut facts in [prepares, finalizes, failed] {
        let row_before = row(&facts);
        let at = next_check(&facts).unwrap();
        facts.now = at - moment;
        assert_eq!(row(&facts), row_before, "the limit itself is in time");
        facts.now = at;
        assert_ne!(row(&facts), row_before);
    }
}
