//! The service dies right after what it wrote has come to last, and before anybody is told: after every such step of an
//! installation in turn.

use std::collections::BTreeMap;

use assisted_blob::failpoint::VARIABLE;
use assisted_testkit::Postgres;

use super::{Site, turn};

/// Steps until each death. Short lives show what a start leaves undone, long ones reach the end.
const LIVES: [u64; 16] = [13, 2, 29, 7, 41, 3, 19, 11, 1, 37, 5, 23, 17, 31, 8, 47];

/// Kinds of steps; the process dies after each at least once.
const KINDS: [&str; 5] = ["update hosts", "update clusters", "insert events", "update due", "put "];

#[test]
fn on_sqlite() {
    let _turn = turn();
    dies_at_every_step(&Site::new(None), 1);
}

#[test]
fn everything_on_postgresql() {
    let _turn = turn();
    let address = Postgres::start().unwrap().create_database().unwrap();
    // A start has to wait for the leases of the one before: it must live long enough to get on.
    dies_at_every_step(&Site::new(Some(address)), 2);
}

fn dies_at_every_step(site: &Site, lives_longer: u64) {
    let first = KINDS.iter().map(|what| format!("1 {what}"));
    let mut lives = first.chain(LIVES.iter().cycle().map(|steps| (steps * lives_longer).to_string()));
    let mut begin = || site.serve(&[(VARIABLE, lives.next().unwrap())]);
    let mut service = site.serve(&[]);
    site.until_ready();
    let simulation = site.simulate(&["--topology", "compact", "--clusters", "3"]);
    // It must have found the service before it is away for the first time.
    site.until_some_clusters();
    service.kill();
    service = begin();
    let report = site.finish(simulation, || {
        if service.has_ended() {
            service = begin();
        }
    });
    service.kill();

    let log = site.log();
    let mut deaths: BTreeMap<&str, u32> = BTreeMap::new();
    for step in log.lines().filter_map(|line| line.strip_prefix("died after: ")) {
        // The files of hosts differ by the ids in their names.
        *deaths.entry(step.split('-').next().unwrap()).or_default() += 1;
    }
    assert!(!log.contains("panicked"), "{}", site.story());
    let died_at = |what: &str| deaths.keys().any(|step| step.contains(what));
    for what in KINDS {
        assert!(died_at(what), "{what}: {deaths:#?}");
    }

    let _service = site.serve(&[]);
    site.until_ready();
    site.nothing_is_told_twice(&report);
}
