//! Random histories: whatever hosts, users, workers and the clock do to a cluster of whatever kind, in whatever order,
//! everything settles, nothing that was reached is lost, every change is told, the clock surprises nobody, and there is
//! always a way back to a cluster that can be installed.
//!
//! A history that fails is made as short as it can be, and printed with what it begins with.

mod act;
mod law;
mod topology;
mod walk;

use std::hash::{BuildHasher, RandomState};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};

use assisted_core::decide::host::binding::{bind_host, release_host};
use assisted_wire::host::HostStatus;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::json;

use act::{Act, acts};
use law::Before;
use topology::{ALL, Topology};
use walk::{DONE, Walk};

use crate::world::{World, cluster};

/// Histories of a cluster of one host; those with more take longer, and get fewer.
const HISTORIES: u32 = 72;
const LENGTH: RangeInclusive<usize> = 30..=45;
const AT_ONCE: RangeInclusive<usize> = 1..=12;

/// Every so many looks the laws are asked that take long.
const SELDOM: usize = 5;

/// Set to the seed that a failure told, the same histories come again; set to `random`, others come each time.
const SEED: &str = "HISTORY_SEED";
/// The same histories in every run of the tests, so that a failure is due to the change that is tested.
const USUAL: u64 = 14_114_772_907_284_424_436;

/// What happens one after the other, by everything that is said in [`law`]; some things at once before anybody
/// looks, as when replies come together.
fn run(mut walk: Walk, history: &[Vec<Act>]) -> Result<(), TestCaseError> {
    for (number, acts) in history.iter().enumerate() {
        walk.world.told.clear();
        walk.pool.values_mut().for_each(|part| part.told.clear());
        let before = Before::of(&walk);
        if let [act, next, ..] = acts.as_slice()
            && act.is_independent_of(next)
        {
            let (mut one, mut other) = (walk.clone(), walk.clone());
            [act, next].into_iter().for_each(|act| one.perform(act));
            [next, act].into_iter().for_each(|act| other.perform(act));
            one.glance();
            other.glance();
            law::same(&one, &other)?;
        }
        for act in acts {
            walk.perform(act);
            if act.may_come_twice() {
                let mut twice = walk.clone();
                twice.perform(act);
                law::same(&walk, &twice)?;
            }
        }
        if number % SELDOM == 0 {
            walk.refresh();
            law::clock(&walk)?;
        } else {
            walk.glance();
        }
        law::holds(&before, acts, &walk)?;
    }
    law::leads_back(walk)
}

/// All histories of one kind of cluster; the error is the shortest that fails.
fn run_all(topology: &'static Topology, seed: u64) -> Result<(), String> {
    let mut ready = topology.begin();
    ready.heal();
    ready.heal();
    let starts = select(vec![topology.begin(), ready.clone(), ready]);
    let config = Config {
        cases: HISTORIES / u32::from(topology.hosts),
        failure_persistence: None,
        max_shrink_iters: 1000,
        max_shrink_time: 60_000,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let histories = (starts, prop::collection::vec(prop::collection::vec(acts(), AT_ONCE), LENGTH));
    let outcome = runner.run(&histories, |(start, history)| run(start, &history));
    outcome.map_err(|error| format!("{} ({SEED}={seed}): {error}", topology.name))
}

#[test]
fn whatever_happens() {
    let seed = match std::env::var(SEED).as_deref() {
        Err(_) => USUAL,
        Ok("random") => RandomState::new().hash_one(0),
        Ok(seed) => seed.parse().unwrap(),
    };
    let (next, failures) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let Some(topology) = ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(failure) = run_all(topology, seed) {
                eprintln!("{failure}");
                failures.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        let workers = std::thread::available_parallelism().map_or(1, Into::into);
        (0..workers).for_each(|_| drop(scope.spawn(work)));
    });
    assert_eq!(failures.into_inner(), 0, "kinds of clusters fail");
    let done = DONE.load(Ordering::Relaxed);
    println!("{done} acts in histories of {} kinds of clusters", ALL.len());
    assert!(done >= 100_000, "{done} acts");
}

/// Binding and unbinding at any time leave a host that can register again.
#[test]
fn bound_and_released_hosts_register_again() {
    let record = cluster(&json!({}));
    let mut world = World::new(None);
    world.bring(1);
    world.refresh();
    let policy = world.facts.policy.clone();
    for _ in 0..3 {
        let host = &world.facts.hosts[0];
        let bound = bind_host(host, &world.infra_env, &record, &policy, world.facts.now).unwrap();
        world.write(bound.hosts, None);
        world.facts.cluster = Some(record.clone());
        world.bring(1);
        world.refresh();
        assert_eq!(world.status(1), HostStatus::PendingForInput);
        let released = release_host(&world.facts.hosts[0], world.facts.now).unwrap();
        world.write(released.hosts, None);
        world.facts.cluster = None;
        world.bring(1);
        world.refresh();
        assert_eq!(world.status(1), HostStatus::KnownUnbound);
    }
}
