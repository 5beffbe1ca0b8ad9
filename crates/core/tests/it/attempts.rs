//! Random attempts to install: whatever hosts, users, workers and the clock do, everything settles, nothing that was
//! reached is lost, the clock surprises nobody, and there is always a way back to a cluster that can be installed.

use std::fmt;

use assisted_core::action::Attempt;
use assisted_core::cluster::{finalizing, kubeconfig, logs, operators};
use assisted_core::host::reset::reset_validation;
use assisted_core::install::{self, Generated};
use assisted_core::refresh::refresh;
use assisted_wire::cluster::ClusterStatus::{
    Cancelled, Error, Finalizing, Installed, Installing, InstallingPendingUserAction,
    PreparingForInstallation, Ready,
};
use assisted_wire::cluster::{FinalizingStage, LogsState};
use assisted_wire::host::{HostStage, HostStatus};
use assisted_wire::operator::{OperatorMonitorReport, OperatorStatus};
use assisted_wire::step::{StepReply, StepType};
use jiff::SignedDuration;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use crate::installation::several;
use crate::refresh::connectivity;
use crate::world::{World, single_node};

#[derive(Clone, Debug)]
enum Act {
    Install,
    Generate(bool),
    Cancel,
    Reset,
    Finalizing(FinalizingStage),
    Operator(OperatorStatus),
    Kubeconfig,
    Logs(LogsState),
    Wait(i64),
    Prepare,
    Host(u8, HostAct),
}

#[derive(Clone, Debug)]
enum HostAct {
    Register,
    Disk(i64),
    Images(&'static str),
    Next,
    Reach(HostStage),
    LoseMedia,
    FailInstall,
    GoSilent,
}

fn acts() -> impl Strategy<Value = Act> {
    let host = prop_oneof![
        2 => Just(HostAct::Register),
        1 => select(vec![0_i64, 0, 1]).prop_map(HostAct::Disk),
        1 => select(vec!["success", "success", "failure"]).prop_map(HostAct::Images),
        12 => Just(HostAct::Next),
        2 => select(HostStage::ALL.to_vec()).prop_map(HostAct::Reach),
        1 => Just(HostAct::LoseMedia),
        1 => Just(HostAct::FailInstall),
        1 => Just(HostAct::GoSilent),
    ];
    prop_oneof![
        4 => Just(Act::Install),
        2 => any::<bool>().prop_map(Act::Generate),
        4 => Just(Act::Prepare),
        1 => Just(Act::Cancel),
        1 => Just(Act::Reset),
        2 => select(FinalizingStage::ALL.to_vec()).prop_map(Act::Finalizing),
        2 => select(OperatorStatus::ALL.to_vec()).prop_map(Act::Operator),
        1 => Just(Act::Kubeconfig),
        1 => select(LogsState::ALL.to_vec()).prop_map(Act::Logs),
        3 => select(vec![1_i64, 61, 700, 1300, 2500, 4000, 90_000]).prop_map(Act::Wait),
        20 => (1..=3_u8, host).prop_map(|(number, act)| Act::Host(number, act)),
    ]
}

/// A world, the last attempt that began in it, and the hosts that say no more.
#[derive(Clone)]
struct Try {
    world: World,
    attempt: Option<Attempt>,
    silent: Vec<u8>,
}

impl fmt::Debug for Try {
    // A whole world would bury what failed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let soft = self.world.cluster().org_soft_timeouts_enabled
            && self.world.facts.settings.hosts.enable_soft_timeouts;
        write!(f, "{} hosts, soft limits: {soft}", self.world.count())
    }
}

impl Try {
    fn act(&mut self, act: &Act) {
        let world = &mut self.world;
        let decided = match act {
            Act::Install => install::install(&world.facts).ok(),
            Act::Generate(good) => self.attempt.map(|attempt| {
                let outcome = if *good { Ok(Generated::default()) } else { Err("why".to_owned()) };
                install::generated(&world.facts, attempt, outcome)
            }),
            Act::Cancel => install::cancel(&world.facts).ok(),
            Act::Reset => install::reset(&world.facts).ok(),
            Act::Finalizing(stage) => finalizing::report(&world.facts, *stage).ok(),
            Act::Operator(status) => {
                let (name, status) = ("console".to_owned(), Some(*status));
                operators::report(&world.facts, &OperatorMonitorReport { name, status, ..Default::default() })
                    .ok()
            }
            Act::Kubeconfig => (world.at() == Finalizing).then(|| kubeconfig::stored(&world.facts)),
            Act::Logs(state) => Some(logs::progress(&world.facts, *state)),
            Act::Prepare => {
                if let Some(attempt) = self.attempt.filter(|_| world.at() == PreparingForInstallation) {
                    world.prepare(attempt);
                }
                None
            }
            Act::Wait(seconds) => {
                world.wait(*seconds);
                (1..=world.count())
                    .filter(|number| !self.silent.contains(number))
                    .for_each(|number| world.poll(number));
                None
            }
            Act::Host(number, act) if *number <= world.count() => {
                self.host(*number, act);
                None
            }
            Act::Host(..) => None,
        };
        if let Some(decided) = decided {
            if matches!(act, Act::Install) {
                self.attempt =
                    decided.cluster.as_ref().map(|record| record.cluster.install_started_at.0.into());
            }
            self.world.take(decided);
        }
        self.world.look();
    }

    fn host(&mut self, number: u8, act: &HostAct) {
        let world = &mut self.world;
        let failed = |step, exit_code| StepReply { step_type: Some(step), exit_code, ..StepReply::default() };
        match act {
            HostAct::Register => {
                self.silent.retain(|silent| *silent != number);
                if world.register(number).is_ok() {
                    world.tell(number, StepType::Inventory, &crate::world::inventory(number)).ok();
                }
            }
            HostAct::Disk(exit_code) => world.check_disk(number, *exit_code),
            HostAct::Images(result) => world.check_images(number, result),
            HostAct::Next => {
                let stages = assisted_core::host::stage::of(world.host(number), Some(world.cluster()));
                let now = world.host(number).progress.as_ref().and_then(|progress| progress.current_stage);
                let next = stages.iter().position(|stage| Some(*stage) == now).map_or(0, |place| place + 1);
                if let Some(stage) = stages.get(next) {
                    world.reach(number, *stage).ok();
                }
            }
            HostAct::Reach(stage) => drop(world.reach(number, *stage)),
            HostAct::LoseMedia => drop(world.answer(number, &failed(StepType::Inventory, 256))),
            HostAct::FailInstall => drop(world.answer(number, &failed(StepType::Install, 1))),
            HostAct::GoSilent => self.silent.push(number),
        }
    }

    /// What holds after everything settled.
    fn check(&self, before: &World) -> Result<(), TestCaseError> {
        let (world, status) = (&self.world, self.world.at());
        for host in &world.facts.hosts {
            let of_host = host.record.host.status;
            let fits = match of_host {
                HostStatus::PreparingForInstallation | HostStatus::PreparingSuccessful => {
                    status == PreparingForInstallation
                }
                HostStatus::Installing | HostStatus::InstallingInProgress => {
                    matches!(status, Installing | InstallingPendingUserAction | Finalizing)
                }
                _ => true,
            };
            prop_assert!(fits, "host {of_host} in cluster {status}");
        }
        let runs = |world: &World| {
            matches!(world.at(), Installing | InstallingPendingUserAction | Finalizing | Installed)
        };
        if runs(before) && runs(world) {
            let (then, now) = (before.progress(), world.progress());
            prop_assert!(now.total_percentage >= then.total_percentage, "{then:?} {now:?}");
            prop_assert!(now.installing_stage_percentage >= then.installing_stage_percentage);
        }
        Ok(())
    }

    /// Until the moment that is announced, the clock changes nothing; without one, never.
    fn check_clock(&self) -> Result<(), TestCaseError> {
        let mut facts = self.world.facts.clone();
        let decade = facts.now + SignedDuration::from_hours(24 * 3650);
        facts.now = refresh(&facts).next_check.map_or(decade, |next| next - SignedDuration::from_millis(1));
        let later = refresh(&facts);
        prop_assert!(later.cluster.is_none(), "{:?}", later.events);
        // Where nobody waits for a sign of life, the validations may tell late that there was none.
        let changed = later.hosts.iter().find(|change| change.record.is_some());
        prop_assert!(changed.is_none(), "{:?}", later.events);
        Ok(())
    }

    /// A user who wants to start over.
    fn start_over(mut self) -> Result<(), TestCaseError> {
        self.silent.clear();
        let world = &mut self.world;
        (1..=world.count()).for_each(|number| world.poll(number));
        world.look();
        if world.at() == Installed {
            return Ok(());
        }
        let resettable =
            [PreparingForInstallation, Installing, InstallingPendingUserAction, Finalizing, Error, Cancelled];
        if resettable.contains(&world.at()) {
            let decided = install::reset(&world.facts);
            prop_assert!(decided.is_ok(), "{decided:?}");
            world.take(decided.unwrap());
        }
        let all = world.count();
        // One that lost its media while it was prepared fails alone: it is removed, and comes back as a new one.
        world.facts.hosts.retain(|host| host.record.host.status != HostStatus::Error);
        for number in 1..=all {
            world.bring(number);
            if all > 1 {
                world.tell(number, StepType::ConnectivityCheck, &connectivity(number, 1..=all)).unwrap();
                let free = json!([{"network": "192.168.126.0/24", "free_addresses": ["192.168.126.100", "192.168.126.101"]}]);
                world.tell(number, StepType::FreeNetworkAddresses, &free).unwrap();
            }
            for id in ["sufficient-installation-disk-speed", "container-images-available"] {
                let outcome = reset_validation(world.find(number).unwrap(), id, world.facts.now).unwrap();
                world.write(outcome.host, None);
            }
            world.look();
        }
        let infos: Vec<_> = world.facts.hosts.iter().map(|host| &host.record.host.status_info).collect();
        prop_assert_eq!(world.at(), Ready, "{:?} {}", infos, world.cluster().validations_info);
        Ok(())
    }
}

fn tries() -> impl Strategy<Value = Try> {
    let soft = several(&json!({"org_soft_timeouts_enabled": true}));
    let worlds =
        vec![World::ready(several(&json!({})), 3), World::ready(soft, 3), World::ready(single_node(), 1)];
    (select(worlds), any::<bool>()).prop_map(|(mut world, soft)| {
        let mut settings = (*world.facts.settings).clone();
        settings.hosts.enable_soft_timeouts = soft;
        world.facts.settings = std::sync::Arc::new(settings);
        Try { world, attempt: None, silent: Vec::new() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn settle_keep_announce_and_lead_back(start in tries(), history in prop::collection::vec(acts(), 1..60)) {
        let mut attempt = start;
        for act in &history {
            let before = attempt.world.clone();
            attempt.act(act);
            attempt.check(&before)?;
            attempt.check_clock()?;
        }
        attempt.start_over()?;
    }

    /// Whoever is told the same twice does no more than once.
    #[test]
    fn replies_may_come_twice(start in tries(), history in prop::collection::vec(acts(), 1..40)) {
        let mut attempt = start;
        for act in &history {
            attempt.act(act);
            if let Act::Generate(_) | Act::Kubeconfig | Act::Finalizing(_) | Act::Prepare = act {
                let before = attempt.world.facts.clone();
                attempt.act(act);
                prop_assert_eq!(&before.cluster, &attempt.world.facts.cluster);
                for (before, after) in before.hosts.iter().zip(&attempt.world.facts.hosts) {
                    prop_assert_eq!(&before.record, &after.record);
                }
            }
        }
    }
}
