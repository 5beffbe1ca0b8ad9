//! Two services on one PostgreSQL, of which one stands still for a while, amid whatever it does, and goes on.

use std::time::{Duration, Instant};

use assisted_testkit::Postgres;

use super::{Site, turn};

/// The first time: long enough for everything that has a limit.
const A_MINUTE: Duration = Duration::from_secs(60);

/// From then on: longer than any lease, so that what the frozen one had taken is done by the other.
const A_WHILE: Duration = Duration::from_secs(12);

#[test]
fn everything_one_is_frozen_and_goes_on() {
    let _turn = turn();
    let address = Postgres::start().unwrap().create_database().unwrap();
    let (site, other) = (Site::new(Some(address.clone())), Site::new(Some(address)));
    // They share their files.
    let other = Site { data: site.data.clone(), ..other };
    let mut service = site.serve(&[]);
    site.until_ready();
    let mut frozen = other.serve(&[]);
    other.until_ready();

    let simulations = [
        site.simulate(&["--clusters", "2", "--seed", "1"]),
        other.simulate(&["--clusters", "2", "--seed", "2"]),
    ];
    let (mut stopped, mut changed, mut freezes) = (false, Instant::now(), 0);
    let mut alternate = || {
        assert!(!service.has_ended() && !frozen.has_ended());
        let wait = match (stopped, freezes) {
            (false, _) => Duration::from_secs(2),
            (true, 1) => A_MINUTE,
            (true, _) => A_WHILE,
        };
        if changed.elapsed() > wait {
            frozen.signal(if stopped { "CONT" } else { "STOP" });
            freezes += u32::from(!stopped);
            (stopped, changed) = (!stopped, Instant::now());
        }
    };
    let [of_site, of_other] = simulations;
    let reports = [site.finish(of_site, &mut alternate), other.finish(of_other, &mut alternate)];
    assert!(freezes > 0);
    frozen.signal("CONT");
    other.until_ready();
    for report in &reports {
        site.nothing_is_told_twice(report);
        other.nothing_is_told_twice(report);
    }
}
