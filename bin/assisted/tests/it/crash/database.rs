//! PostgreSQL ends in the middle of an installation, and comes back.

use std::time::{Duration, Instant};

use assisted_testkit::{Durability, Postgres};

use super::{Site, turn};

/// One of its processes dies: the server ends all others, recovers as after a crash, and takes connections again.
fn crash(server: &Postgres) {
    let is_ours = |pid: &u32| {
        let title = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&title).starts_with("postgres: assisted ")
    };
    let pids = server.pids();
    if let Some(pid) = pids.iter().find(|pid| is_ours(pid)) {
        let killed = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
        assert!(killed.success() || !is_ours(pid));
    }
}

#[test]
fn it_is_restarted_in_the_middle() {
    let _turn = turn();
    let server = Postgres::launch(Durability::Full).unwrap();
    let site = Site::new(Some(server.create_database().unwrap()));
    let mut service = site.serve(&[]);
    site.until_ready();
    let simulation = site.simulate(&["--topology", "compact", "--clusters", "2"]);
    let (mut crashed, mut crashes) = (Instant::now(), 0);
    let report = site.finish(simulation, || {
        assert!(!service.has_ended(), "it goes on without its database\n{}", site.story());
        if crashed.elapsed() > Duration::from_secs(3) {
            crash(&server);
            // The next one comes when there was time to work: on a busy machine it takes longer than that to recover.
            site.until_ready();
            (crashed, crashes) = (Instant::now(), crashes + 1);
        }
    });
    assert!(crashes > 0, "an installation takes longer than that");
    site.until_ready();
    site.nothing_is_told_twice(&report);
}
