//! How long it takes to decide: a look at a cluster in which something changed, and at one in which nothing did; and what a
//! host of a large cluster makes its cluster do by telling which of the others it reaches.
//!
//! `cargo bench -p assisted-core --bench refresh [-- FILTER]`: fastest and median in µs, one line each; the fastest tells
//! what it costs on a machine that is busy with other things. A number of hosts as further argument adds clusters of that size.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[allow(dead_code, unused_imports, reason = "shared with the tests")]
#[path = "../tests/it/world/mod.rs"]
mod world;

use std::hint::black_box;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use assisted_core::decide::host::reply::reply;
use assisted_core::decide::host::steps::views;
use assisted_core::decide::refresh::refresh;
use assisted_wire::host::HostStage;
use assisted_wire::step::{StepReply, StepType};
use serde_json::{Value, json};

use world::{World, connectivity, key, poor_inventory, several};

/// How long each figure is measured.
const TIME: Duration = Duration::from_millis(1500);
const LEAST_ROUNDS: usize = 5;

/// The fastest and the median of as many rounds as fit into the time, in µs. What a round gives back is dropped after it.
fn rounds<S, O>(mut prepare: impl FnMut() -> S, mut run: impl FnMut(S) -> O) -> [f64; 2] {
    let (begun, mut rounds) = (Instant::now(), Vec::new());
    while rounds.len() < LEAST_ROUNDS || begun.elapsed() < TIME {
        let state = prepare();
        let begin = Instant::now();
        let outcome = run(state);
        rounds.push(begin.elapsed());
        drop(outcome);
    }
    rounds.sort_unstable();
    [rounds[0], rounds[rounds.len() / 2]].map(|round| round.as_secs_f64() * 1e6)
}

struct Bench {
    filters: Vec<String>,
}

impl Bench {
    /// Whether any figure whose name has this in it may be asked for: what it is measured on takes long to make.
    fn wants(&self, part: &str) -> bool {
        let may_be = |filter: &String| filter.contains(part) || part.contains(filter.as_str());
        self.filters.is_empty() || self.filters.iter().any(may_be)
    }

    fn measure<S, O>(&self, name: &str, prepare: impl FnMut() -> S, run: impl FnMut(S) -> O) {
        if !self.filters.is_empty() && !self.filters.iter().any(|filter| name.contains(filter.as_str())) {
            return;
        }
        let [fastest, median] = rounds(prepare, run);
        let _ = writeln!(io::stdout(), "{name:<56} fastest {fastest:>10.1} µs, median {median:>10.1} µs");
    }

    /// A look at a cluster as it is, and after a change, and without what earlier looks have found; nothing else is in the time.
    fn looks(&self, name: &str, world: &World, change: impl Fn(&mut World) + Copy) {
        let mut world = world.clone();
        world.look();
        let as_it_is = || world.clone();
        let changed = || {
            let mut world = world.clone();
            change(&mut world);
            world
        };
        let look = |mut world: World| {
            drop(black_box(world.look()));
            world
        };
        self.measure(&format!("{name}, nothing changed"), as_it_is, look);
        self.measure(&format!("{name}, something changed"), changed, look);
        self.measure(&format!("{name}, nothing is known of others"), changed, |world| {
            drop(black_box(refresh(&world.facts)));
            world
        });
    }
}

fn answer(step: StepType, output: &Value) -> StepReply {
    StepReply { step_type: Some(step), output: output.to_string(), ..StepReply::default() }
}

/// A cluster of so many hosts that is ready, and the same while it is installed.
fn clusters(hosts: u16) -> (World, World) {
    let masters = if hosts < 5 { 3 } else { 5 };
    // The common prefixes leave room for 512 nodes.
    let networks = json!([{"cidr": "10.128.0.0/14", "host_prefix": 24}]);
    let record = several(&json!({
        "control_plane_count": masters, "openshift_version": "4.20.1", "cluster_networks": networks,
    }));
    let mut world = World::new(Some(record));
    for number in 1..=hosts {
        world.bring(number);
    }
    world.glance();
    for number in 1..=hosts {
        world.find_others(number, hosts);
    }
    world.glance();
    let ready = world.clone();
    let (attempt, _) = world.install();
    world.prepare(attempt);
    for number in 1..=hosts {
        for stage in [HostStage::StartingInstallation, HostStage::Installing, HostStage::WritingImageToDisk] {
            world.report(number, stage, "").unwrap();
        }
    }
    world.glance();
    (ready, world)
}

fn main() {
    let arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    let (sizes, filters): (Vec<_>, Vec<_>) = arguments.partition(|argument| argument.parse::<u16>().is_ok());
    let sizes = sizes.iter().filter_map(|size| size.parse().ok());
    let bench = Bench { filters };
    for hosts in [3, 300, 1_000].into_iter().chain(sizes) {
        if !bench.wants(&format!("look, {hosts} hosts")) {
            continue;
        }
        let (ready, installing) = clusters(hosts);
        bench.looks(&format!("look, {hosts} hosts, ready"), &ready, |world| {
            world.reply(1, StepType::Inventory, &poor_inventory(1)).unwrap();
        });
        bench.looks(&format!("look, {hosts} hosts, installing"), &installing, |world| {
            world.report(1, HostStage::WritingImageToDisk, "50%").unwrap();
        });
    }
    let hosts = 500;
    if !bench.wants("500 hosts") {
        return;
    }
    let (ready, _) = clusters(hosts);
    let facts = &ready.facts;
    let good = connectivity(1, 1..=hosts);
    let alone = answer(StepType::ConnectivityCheck, &json!({"remote_hosts": []}));
    let mut slow = good.clone();
    for remote in slow["remote_hosts"].as_array_mut().unwrap() {
        remote["l3_connectivity"][0]["average_rtt_ms"] = json!(0.75);
    }
    let slow = answer(StepType::ConnectivityCheck, &slow);
    let changed = |reply: &StepReply| {
        let mut world = ready.clone();
        world.answer(1, reply).unwrap();
        world.facts
    };
    bench.measure(
        "connectivity reply, 500 hosts, other times",
        || (),
        |()| {
            drop(black_box(reply(facts, key(1), &slow)));
        },
    );
    bench.measure("  and the look after it", || changed(&slow), |facts| drop(black_box(refresh(&facts))));
    bench.measure(
        "connectivity reply, 500 hosts, others not reached",
        || (),
        |()| {
            drop(black_box(reply(facts, key(1), &alone)));
        },
    );
    bench.measure("  and the look after it", || changed(&alone), |facts| drop(black_box(refresh(&facts))));
    bench.measure("what 500 hosts are told", || (), |()| drop(black_box(views(facts))));
}
