//! The service on PostgreSQL, as `DB_HOST` and its kin name it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use assisted_testkit::{Durability, Postgres};

use crate::images::{get, get_once};
use crate::service::{Service, text};

/// Holds up whoever inserts a cluster, until somebody has waited for more than two seconds.
const HOLD: &str = "do $$ begin
    lock table clusters in share mode;
    for n in 1..3000 loop
        perform pg_stat_clear_snapshot();
        exit when exists (select from pg_stat_activity
            where wait_event_type = 'Lock' and query like 'insert into clusters %');
        perform pg_sleep(0.01);
    end loop;
    perform pg_sleep(2.5);
end $$";

// They fail as long as there is none.
const HELD: &str = "select 1 / count(*) from pg_locks
    where relation = 'clusters'::regclass and mode = 'ShareLock' and granted";
const AN_INFRA_ENV: &str = "select 1 / count(*) from infra_envs";

/// A service whose records are in the servers' database of administrators.
fn start(servers: &[&Postgres], more: &[(&str, &str)]) -> Service {
    let address = Postgres::address_of_all(servers, "postgres");
    let hosts = address.strip_prefix("postgres://assisted@").unwrap().strip_suffix("/postgres").unwrap();
    let database = [("DB_HOST", hosts), ("DB_USER", "assisted"), ("DB_NAME", "postgres")];
    Service::start_with_env(&[&database[..], more].concat())
}

fn until_it_succeeds(server: &Postgres, sql: &str) {
    let limit = Instant::now() + Duration::from_secs(60);
    while let Err(error) = server.execute(sql) {
        assert!(Instant::now() < limit, "{sql}: {error}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_service_goes_on_when_the_standby_takes_over() {
    let primary = Postgres::launch(Durability::Fast).unwrap();
    let standby = primary.standby().unwrap();
    let service = start(&[&primary, &standby], &[]);
    let (before, _) = service.cluster("before");
    // It was made after the cluster, and is copied after it.
    until_it_succeeds(&standby, AN_INFRA_ENV);
    let clusters = format!("{}/api/assisted-install/v2/clusters", service.url);
    let (head, _) = get_once(&clusters);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");

    drop(primary);
    let (head, body) = get_once(&clusters);
    assert!(head.starts_with("HTTP/1.1 503"), "{head}{}", text(&body));
    assert!(head.to_ascii_lowercase().contains("retry-after:"), "{head}");
    assert!(text(&body).contains("can't reach its database just now"), "{}", text(&body));

    standby.promote().unwrap();
    let (head, _) = get(&clusters);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}\n{}", service.log());
    let (after, _) = service.cluster("after");
    let listed = service.json(&["cluster", "list"]);
    let listed: BTreeSet<_> =
        listed.as_array().unwrap().iter().map(|cluster| cluster["id"].as_str().unwrap()).collect();
    assert_eq!(listed, BTreeSet::from([before.as_str(), after.as_str()]));
}

#[test]
fn what_is_slow_is_logged_without_its_values() {
    let server = Postgres::launch(Durability::Fast).unwrap();
    let service = start(&[&server], &[("DB_LOG_SLOW_QUERIES", "true"), ("DB_SLOW_QUERY_THRESHOLD", "2s")]);
    service.cluster("quick");
    assert!(!service.log().contains("slow statement"), "{}", service.log());
    std::thread::scope(|scope| {
        let holding = scope.spawn(|| server.execute(HOLD));
        until_it_succeeds(&server, HELD);
        service.cluster("held-up");
        holding.join().unwrap().unwrap();
    });
    let log = service.log();
    let slow: Vec<_> = log.lines().filter(|line| line.contains("slow statement")).collect();
    assert!(slow.iter().any(|line| line.contains("insert into clusters")), "{log}");
    for value in ["held-up", "example.com"] {
        assert!(slow.iter().all(|line| !line.contains(value)), "{value} is in {slow:?}");
    }
    // The secret of the image, and thus of both records.
    assert!(!log.contains("dXNlcjpwYXNz"), "{log}");
}
