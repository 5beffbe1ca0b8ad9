//! The service under seeds: one to three replicas on one PostgreSQL and one bucket, to which a seed lets happen what happens in a
//! data centre, while clients install clusters and remember what they were told.
//!
//! A seed decides how many replicas and clusters there are, how far their clocks differ, when which replica crashes, is cut off,
//! or has its clock set, and which pieces of what it says to database and bucket are late, lost, lost in part, or done and never answered. The
//! threads of a process run as they like, so that a seed that failed fails again often, and not always: its plan is printed.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a sweep says how far it is, a failure its plan"
)]

mod client;
mod history;
mod plan;
mod replica;
mod world;

use std::sync::Arc;

use futures::future::join_all;

use self::client::Client;
use self::plan::Plan;
use self::world::World;

/// `FIRST` or `FIRST-LAST`: the seeds of the sweep.
const SEEDS: &str = "ASSISTED_SIMULATION_SEEDS";

/// Tells the plan of a simulation that fails.
struct OnFailure(Plan);

impl Drop for OnFailure {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}: {:#?}", self.0.seed, self.0);
        }
    }
}

async fn simulate(seed: u64) {
    let plan = Plan::of(seed);
    let on_failure = OnFailure(plan.clone());
    let world = Arc::new(World::start(&plan).await);
    let clients = (0..plan.clusters).map(|number| {
        let (world, random) = (Arc::clone(&world), plan.random(number));
        tokio::spawn(async move { Client::new(world, random).await.run().await })
    });
    let clients: Vec<_> = clients.collect();
    world.suffer(&plan).await;
    let histories: Vec<_> = join_all(clients).await.into_iter().map(Result::unwrap).collect();
    history::check(&world, &histories).await;
    drop(on_failure);
}

/// Seeds of which each kind of disturbance is part.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_acknowledged_is_kept_and_told_once() {
    for seed in [1, 2, 3] {
        simulate(seed).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_of_a_sweep_of_seeds() {
    let seeds = std::env::var(SEEDS).unwrap_or_else(|_| "1-20".to_owned());
    let (first, last) = seeds.split_once('-').unwrap_or((&seeds, &seeds));
    for seed in first.parse().unwrap()..=last.parse::<u64>().unwrap() {
        simulate(seed).await;
        println!("seed {seed}: fine");
    }
}
