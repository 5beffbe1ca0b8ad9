//! The program itself, called as hosts call it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests too")]

mod container;
mod installer;
mod ocl;
mod service;

use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_assisted-host");
const ID: &str = "856f4f9c-3c08-4d97-8ec7-ea0ad7d4cadf";

/// The program under another name, without the environment of whoever runs the test.
fn called(name: &str, args: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .arg0(name)
        .args(args)
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .stdin(Stdio::null());
    command
}

fn end(name: &str, args: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = called(name, args).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn the_agent_refuses_settings_that_cannot_work() {
    let dir = tempfile::tempdir().unwrap();
    let no_certificate = dir.path().join("ca");
    std::fs::write(&no_certificate, "none").unwrap();
    let good = ["--url", "http://127.0.0.1:1", "--infra-env-id", ID, "--with-journal-logging=false"];
    let with = |more: &[&str]| end("/usr/local/bin/agent", &[&good[..], more].concat());
    for ((code, stdout, stderr), told) in [
        (end("agent", &[]), "--url"),
        (end("agent", &good[..2]), "--infra-env-id"),
        (end("agent", &["-url", "no address", "-infra-env-id", ID]), "address"),
        (with(&["--new-flag"]), "--new-flag"),
        (with(&["--cacert", "/no/such/file"]), "/no/such/file"),
        (with(&["-cacert", no_certificate.to_str().unwrap()]), "certificate"),
        (with(&["-dry-run"]), "--force-id"),
    ] {
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
        assert!(stderr.contains(told), "{told}: {stderr}");
    }
    let (code, stdout, _) = end("agent", &["-help"]);
    assert_eq!(code, Some(0));
    assert!(stdout.contains("--infra-env-id") && stdout.contains("PULL_SECRET_TOKEN"), "{stdout}");
}

#[test]
fn helpers_of_existing_images_are_parts() {
    for (name, args, code, told) in [
        ("next_step_runner", &["-url", "http://h"][..], 1, "--infra-env-id"),
        ("next_step_runner", &["-url", "http://h", "-infra-env-id", ID], 1, "--host-id"),
        ("free_addresses", &["x"], 255, "free addresses: "),
        ("disk_speed_check", &[r#"{"path":"/dev/null"}"#], 255, "it is no disk"),
        ("disk_speed_check", &[], 255, "accepts 2 params"),
        ("logs_sender", &["-url", "http://h"], 2, "--cluster-id"),
        ("logs_sender", &["-with-stdout=1"], 2, "--with-stdout"),
        ("installer", &["-cluster-id", ID], 2, "--boot-device"),
        ("assisted-installer", &["--high-availability-mode", "Full"], 2, "--high-availability-mode"),
        ("assisted-host", &["frobnicate"], 2, "frobnicate"),
    ] {
        let (found, _, stderr) = end(&format!("/usr/bin/{name}"), args);
        assert_eq!(found, Some(code), "{name} {args:?}: {stderr}");
        assert!(stderr.contains(told), "{name} {args:?}: {stderr}");
    }
}

#[test]
fn a_machine_is_judged_without_any_service() {
    let dir = tempfile::tempdir().unwrap();
    let machine = dir.path().join("machine");
    std::fs::create_dir_all(machine.join("proc/sys/kernel")).unwrap();
    std::fs::write(machine.join("proc/sys/kernel/hostname"), "box\n").unwrap();
    std::fs::write(machine.join("proc/meminfo"), "MemTotal:       33554432 kB\n").unwrap();
    let root = machine.to_str().unwrap();
    let inspect = |more: &[&str]| {
        let args = ["inspect", "--root", root, "--with-journal-logging=false"];
        end("assisted-host", &[&args[..], more].concat())
    };
    let (code, stdout, stderr) = inspect(&["--role", "worker"]);
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stdout.contains("As worker: CAN'T be installed (disk: none)"), "{stdout}");
    assert!(stdout.contains("has-min-valid-disks"), "{stdout}");
    let (code, stdout, _) = inspect(&["--output", "json"]);
    assert_eq!(code, Some(3));
    let found: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(
        (found["installable"].as_bool(), found["roles"].as_array().map(Vec::len)),
        (Some(false), Some(4))
    );
    assert_eq!(found["inventory"]["hostname"], "box");
    assert_eq!(inspect(&["--role", "king"]).0, Some(2));
}

#[test]
fn an_inventory_stands_alone_on_standard_output() {
    let dir = tempfile::tempdir().unwrap();
    let machine = dir.path().join("machine");
    std::fs::create_dir_all(machine.join("proc/sys/kernel")).unwrap();
    std::fs::write(machine.join("proc/sys/kernel/hostname"), "there\n").unwrap();
    let root = machine.to_str().unwrap();
    let (code, stdout, _) = end("inventory", &["-root", root, "-with-journal-logging=0"]);
    assert_eq!(code, Some(0));
    let found: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(
        (found["hostname"].as_str(), found["disks"].as_array().map(Vec::len)),
        (Some("there"), Some(0))
    );
    let dry = ["-root", root, "-dry-run", "-force-id", ID, "-force-hostname", "another"];
    let found: serde_json::Value = serde_json::from_str(&end("inventory", &dry).1).unwrap();
    assert_eq!(found["hostname"], "another");

    let link = dir.path().join("inventory");
    symlink(PROGRAM, &link).unwrap();
    let here = Command::new(&link).output().unwrap();
    let found: serde_json::Value = serde_json::from_slice(&here.stdout).unwrap();
    assert!(found["cpu"]["count"].as_u64().unwrap() > 0);
}

#[test]
fn steps_answer_under_their_names() {
    let (code, stdout, _) = end("domain-resolution", &[r#"{"domains": []}"#]);
    assert_eq!((code, stdout.as_str()), (Some(0), "{\"resolutions\":[]}\n"));
    let (code, stdout, stderr) = end("ntp-synchronizer", &[r#"{"ntp_source": "a b"}"#]);
    assert_eq!((code, stdout.as_str()), (Some(255), ""));
    assert!(stderr.contains("neither an address nor a host name"), "{stderr}");
    assert_eq!(end("assisted-host", &["step", "install", "{}"]).0, Some(255));
    assert_eq!(end("assisted-host", &["step", "stop-everything"]).0, Some(255));
}

#[test]
fn the_token_shows_nowhere_and_the_agent_stops_when_told() {
    const TOKEN: &str = "eyJhbGciOi-very-secret";
    // Nobody listens there.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{closed}");
    let args = ["-url", &url, "-infra-env-id", ID, "-interval", "1", "-with-journal-logging=false"];
    let mut agent =
        called("agent", &args).env("PULL_SECRET_TOKEN", TOKEN).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = String::new();
    let mut lines = BufReader::new(agent.stderr.take().unwrap());
    while !log.contains("registration failed") {
        assert!(lines.read_line(&mut log).unwrap() > 0, "{log}");
    }
    let command_line =
        std::fs::read(Path::new("/proc").join(agent.id().to_string()).join("cmdline")).unwrap();
    let terminated = Command::new("kill").arg(agent.id().to_string()).status().unwrap();
    let status = agent.wait().unwrap();
    while lines.read_line(&mut log).unwrap() > 0 {}
    assert!(terminated.success() && status.success(), "{status}: {log}");
    assert!(!log.contains(TOKEN) && !String::from_utf8_lossy(&command_line).contains(TOKEN), "{log}");
}
