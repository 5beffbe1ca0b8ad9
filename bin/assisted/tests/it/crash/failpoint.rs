//! The service dies right after what it wrote has come to last, and before anybody is told: after a step of each kind that
//! an installation has.

use std::collections::BTreeSet;

use assisted_base::failpoint::{DIE_AFTER, DIED, KINDS};
use assisted_testkit::Postgres;

use super::{Site, turn};

/// Steps until each death, when the service has died after each kind. Short lives show what a start leaves undone, long
/// ones reach the end.
const LIVES: [u64; 16] = [13, 2, 29, 7, 41, 3, 19, 11, 1, 37, 5, 23, 17, 31, 8, 47];

/// Kinds that every installation has, whatever else there is.
const CERTAIN: [&str; 4] = ["update hosts", "update clusters", "insert events", "put kubeconfig"];

/// Simulations until the service has died after each kind.
const SIMULATIONS: u32 = 5;

#[test]
fn on_sqlite() {
    let _turn = turn();
    dies_after_each_kind(&Site::new(None), &Site::new(None), 1);
}

#[test]
fn everything_on_postgresql() {
    let _turn = turn();
    let site = || Site::new(Some(Postgres::start().unwrap().create_database().unwrap()));
    // A start has to wait for the leases of the one before: it must live long enough to get on.
    dies_after_each_kind(&site(), &site(), 2);
}

/// The kinds of steps of an installation in which nothing goes wrong.
fn kinds(site: &Site) -> BTreeSet<String> {
    // What only the first start of all does.
    let mut first = site.serve(&[]);
    site.until_ready();
    first.kill();
    let file = site.dir.path().join("kinds");
    let _service = site.serve(&[(KINDS, file.to_str().unwrap().to_owned())]);
    site.until_ready();
    site.finish(site.simulate(&["--topology", "compact"]), || ());
    let kinds: BTreeSet<String> = std::fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect();
    for certain in CERTAIN {
        assert!(kinds.contains(certain), "{certain}: {kinds:#?}");
    }
    kinds
}

/// What the service died after last.
fn last_death(site: &Site) -> Option<String> {
    site.log().lines().rev().find_map(|line| line.strip_prefix(DIED)).map(str::to_owned)
}

fn dies_after_each_kind(clean: &Site, site: &Site, lives_longer: u64) {
    let kinds = kinds(clean);
    let mut left = kinds.clone();
    let mut lives = LIVES.iter().cycle();
    let mut next = |left: &BTreeSet<String>| match left.is_empty() {
        true => (lives.next().unwrap() * lives_longer).to_string(),
        false => format!("1 {}", left.iter().map(String::as_str).collect::<Vec<_>>().join("|")),
    };
    let mut reports = Vec::new();
    for seed in 1..=SIMULATIONS {
        let is_first = seed == 1;
        let many = if is_first { "3" } else { "1" };
        let seed = seed.to_string();
        let simulate = || site.simulate(&["--topology", "compact", "--clusters", many, "--seed", &seed]);
        // It must have found the service before it is away for the first time. What every start does has been died of when the
        // first simulation is over; then it is the beginning of one that is left.
        let mut service = site.serve(&if is_first { vec![] } else { vec![(DIE_AFTER, next(&left))] });
        site.until_ready();
        let simulation = simulate();
        if is_first {
            site.until_some_clusters();
            service.kill();
            service = site.serve(&[(DIE_AFTER, next(&left))]);
        }
        reports.push(site.finish(simulation, || {
            if service.has_ended() {
                left.remove(&last_death(site).unwrap());
                service = site.serve(&[(DIE_AFTER, next(&left))]);
            }
        }));
        service.kill();
        if left.is_empty() {
            break;
        }
    }
    assert!(!site.log().contains("panicked"), "{}", site.story());
    let died: BTreeSet<_> = kinds.difference(&left).cloned().collect();
    assert_eq!(died, kinds, "after {} simulations", reports.len());

    let _service = site.serve(&[]);
    site.until_ready();
    for report in &reports {
        site.nothing_is_told_twice(report);
    }
}
