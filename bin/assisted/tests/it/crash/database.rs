//! PostgreSQL ends in the middle of an installation, or falls silent, and comes back.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use assisted_testkit::{Durability, Hole, Postgres};
use tokio::runtime::Runtime;

use super::{Site, turn};
use crate::service::{PULL_SECRET, Service};

/// An answer takes no longer while the database is silent: a connection is waited for 5 s, and a statement 3 s.
const WITHIN: Duration = Duration::from_secs(30);

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

/// Status line and headers of the answer to a request, in small letters; it comes in time, whatever it is.
fn head(service: &Service, method: &str, path: &str, body: &str) -> String {
    let host = service.url.strip_prefix("http://").unwrap();
    let begun = Instant::now();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(WITHIN)).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer);
    assert!(read.is_ok() && begun.elapsed() < WITHIN, "{method} {path}: {read:?}\n{}", service.log());
    answer.split_once("\r\n\r\n").unwrap().0.to_ascii_lowercase()
}

#[test]
fn it_is_silent_and_speaks_again() {
    const CLUSTERS: &str = "/api/assisted-install/v2/clusters";
    let _turn = turn();
    let server = Postgres::start().unwrap();
    let database = server.create_database().unwrap();
    let name = database.rsplit_once('/').unwrap().1;
    let runtime = Runtime::new().unwrap();
    let hole = runtime.block_on(Hole::before_socket(server.socket())).unwrap();
    let address = format!("postgres://assisted@127.0.0.1:{}/{name}", hole.port());
    let service = Service::start_with_env(&[("ASSISTED_DATABASE", &address), ("DB_STATEMENT_TIMEOUT", "2s")]);
    let cluster = serde_json::json!({"name": "c", "openshift_version": "4.20", "pull_secret": PULL_SECRET});
    let cluster = cluster.to_string();
    let requests = [
        ("GET", "/ready", "", "200"),
        ("GET", CLUSTERS, "", "200"),
        ("POST", CLUSTERS, cluster.as_str(), "201"),
    ];
    for (method, path, body, status) in requests {
        let head = head(&service, method, path, body);
        assert!(head.starts_with(&format!("http/1.1 {status} ")), "{method} {path}: {head}");
    }
    hole.open(true);
    // On connections that there are, and on new ones.
    for _ in 0..2 {
        for (method, path, body, _) in requests {
            let head = head(&service, method, path, body);
            let tells = head.starts_with("http/1.1 503 ") && head.contains("\r\nretry-after: ");
            assert!(tells, "{method} {path}: {head}\n{}", service.log());
        }
    }
    // It is not the service that has to be started again.
    assert!(head(&service, "GET", "/health", "").starts_with("http/1.1 200 "));
    hole.open(false);
    let back = Instant::now();
    for (method, path, body, status) in requests {
        loop {
            let head = head(&service, method, path, body);
            if head.starts_with(&format!("http/1.1 {status} ")) {
                break;
            }
            assert!(back.elapsed() < Duration::from_secs(60), "{method} {path}: {head}\n{}", service.log());
        }
    }
}
