//! The power fails: of what was written only that is there afterwards which had come to the disk, in the database and in the folder of
//! files. Both are on a file system of a real kernel, whose disk is a file. What stands in that file when the service dies is all that is
//! left; what the kernel still held is dropped.
//!
//! A seed decides when. Meanwhile clusters are installed, and somebody writes settings and files and remembers what was acknowledged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Site, turn};
use crate::service::PULL_SECRET;

/// `FIRST` or `FIRST-LAST`: the seeds of the sweep, which are those of the simulation in `crates/service`.
const SEEDS: &str = "ASSISTED_SIMULATION_SEEDS";

/// Bytes of the disk.
const SIZE: u64 = 64 << 20;

/// Nothing but what is synced comes to the disk in the time of a test: nothing is committed by itself, and a file that takes the place of
/// another one is no exception.
const OPTIONS: &str = "loop,commit=600,noauto_da_alloc";

/// Between two writes of somebody.
const PACE: Duration = Duration::from_millis(50);

/// Files that somebody writes at most.
const MOST_FILES: usize = 100;

/// How long somebody waits for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A file system on a disk that is a file; unmounted when it is dropped.
struct Disk {
    /// Where the file is: in memory, which is no part of what is lost.
    files: tempfile::TempDir,
    mounted_at: PathBuf,
    losses: usize,
}

impl Disk {
    fn mount(mounted_at: PathBuf) -> Self {
        let disk = Self { files: tempfile::tempdir_in("/dev/shm").unwrap(), mounted_at, losses: 0 };
        std::fs::create_dir(&disk.mounted_at).unwrap();
        File::create(disk.file()).unwrap().set_len(SIZE).unwrap();
        // All of it at once, so that the kernel has nothing to write later.
        let whole = ["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"];
        run(Command::new("mkfs.ext4").args(whole).arg(disk.file()));
        disk.attach();
        disk
    }

    fn file(&self) -> PathBuf {
        self.files.path().join(self.losses.to_string())
    }

    fn attach(&self) {
        run(Command::new("mount").args(["-o", OPTIONS]).arg(self.file()).arg(&self.mounted_at));
    }

    /// The disk as it is, and nothing else. Nobody writes to it any more: its writers have died.
    fn lose_power(&mut self) {
        let before = self.file();
        self.losses += 1;
        std::fs::copy(&before, self.file()).unwrap();
        // Now the kernel writes what it still held, where nobody reads it.
        run(Command::new("umount").arg(&self.mounted_at));
        std::fs::remove_file(before).unwrap();
        self.attach();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.mounted_at).status();
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {why} (disks need root: run these tests as root)");
}

/// Somebody who writes settings and files of a cluster, and knows what was acknowledged.
struct Writer {
    port: u16,
    cluster: String,
    writes: u64,
    /// All that were sent, by their names.
    files: BTreeMap<String, String>,
    acknowledged: BTreeSet<String>,
    /// The setting that was acknowledged last, and those that were sent after it.
    tags: String,
    unknown_tags: Vec<String>,
}

impl Writer {
    fn new(port: u16) -> Self {
        let mut writer = Self {
            port,
            cluster: String::new(),
            writes: 0,
            files: BTreeMap::new(),
            acknowledged: BTreeSet::new(),
            tags: String::new(),
            unknown_tags: Vec::new(),
        };
        let cluster = json!({"name": "kept", "openshift_version": "4.20", "pull_secret": PULL_SECRET});
        let (status, made) = writer.ask("POST", "", &cluster).unwrap();
        assert_eq!(status, 201, "{made}");
        let made: Value = serde_json::from_str(&made).unwrap();
        made["id"].as_str().unwrap().clone_into(&mut writer.cluster);
        writer
    }

    /// The status and the body of an answer; `None`: there was none, and nobody knows what was done.
    fn ask(&self, method: &str, path: &str, body: &Value) -> Option<(u16, String)> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        write!(
            stream,
            "{method} /api/assisted-install/v2/clusters{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, body.to_owned()))
    }

    /// The body of an answer of a service that runs.
    fn read(&self, path: &str) -> String {
        let (status, body) = self.ask("GET", path, &Value::Null).unwrap();
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// Writes a setting and a file.
    fn write(&mut self) {
        self.writes += 1;
        let (number, cluster) = (self.writes, format!("/{}", self.cluster));
        let tags = format!("t{number}");
        match self.ask("PATCH", &cluster, &json!({ "tags": tags })) {
            Some((201, _)) => {
                self.tags = tags;
                self.unknown_tags.clear();
            }
            _ => self.unknown_tags.push(tags),
        }
        if self.files.len() == MOST_FILES {
            return;
        }
        // Of more than one page.
        let text = format!("kind: ConfigMap\nnumber: {number}\n# {}\n", "x".repeat(8 << 10));
        let name = format!("kept-{number}.yaml");
        let manifest = json!({"folder": "openshift", "file_name": name, "content": STANDARD.encode(&text)});
        let sent = self.ask("POST", &format!("{cluster}/manifests"), &manifest);
        if matches!(sent, Some((201, _))) {
            self.acknowledged.insert(name.clone());
        }
        self.files.insert(name, text);
    }

    /// What was acknowledged is there, and what is there is whole.
    fn check(&mut self) {
        let cluster = format!("/{}", self.cluster);
        let shown: Value = serde_json::from_str(&self.read(&cluster)).unwrap();
        let tags = shown["tags"].as_str().unwrap_or_default().to_owned();
        let may_be = self.tags == tags || self.unknown_tags.contains(&tags);
        assert!(may_be, "{tags:?}, not {:?} or one of {:?}", self.tags, self.unknown_tags);
        self.tags = tags;
        self.unknown_tags.clear();

        let listed: Value = serde_json::from_str(&self.read(&format!("{cluster}/manifests"))).unwrap();
        let names =
            listed.as_array().unwrap().iter().map(|file| file["file_name"].as_str().unwrap().to_owned());
        let names: BTreeSet<_> = names.collect();
        let lost: Vec<_> = self.acknowledged.difference(&names).collect();
        assert!(lost.is_empty(), "acknowledged, and not there: {lost:?}");
        for name in &names {
            let text = self.read(&format!("{cluster}/manifests/files?folder=openshift&file_name={name}"));
            assert!(self.files.get(name) == Some(&text), "{name} is not what was sent: {text:?}");
        }
        // What is there is not lost any more.
        self.acknowledged = names;
    }
}

/// Has a thread end, however the others end.
struct EndsWriter<'a>(&'a AtomicBool);

impl Drop for EndsWriter<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// How long the power lasts each time, in the order of a seed.
fn pauses(seed: u64) -> impl Iterator<Item = Duration> {
    let step = |state: &u64| {
        Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
    };
    let states = std::iter::successors(Some(seed), step).skip(1);
    states.map(|state| Duration::from_millis(100 + (state >> 33) % 1900))
}

fn the_power_fails(seed: u64, clusters: u32) {
    let mut site = Site::new(None);
    let mut disk = Disk::mount(site.dir.path().join("disk"));
    site.data = disk.mounted_at.join("data");
    let mut service = site.serve(&[]);
    site.until_ready();
    let (count, number) = (clusters.to_string(), seed.to_string());
    let simulation = site.simulate(&["--topology", "compact", "--clusters", &count, "--seed", &number]);
    // It must have found the service before that is away for the first time.
    site.until_some_clusters();
    let writer = Mutex::new(Writer::new(site.port.number));
    let over = AtomicBool::new(false);
    let (mut pauses, mut since) = (pauses(seed), Instant::now());
    let mut pause = pauses.next().unwrap();
    let report = std::thread::scope(|threads| {
        let _end = EndsWriter(&over);
        threads.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                writer.lock().unwrap().write();
                std::thread::sleep(PACE);
            }
        });
        site.finish(simulation, || {
            if since.elapsed() < pause {
                return;
            }
            // In the middle of whatever it was asked.
            service.kill();
            disk.lose_power();
            service = site.serve(&[]);
            site.until_ready();
            writer.lock().unwrap().check();
            (pause, since) = (pauses.next().unwrap(), Instant::now());
        })
    });
    assert!(disk.losses > 1, "an installation takes longer than that");
    site.until_ready();
    let mut writer = writer.into_inner().unwrap();
    writer.check();
    assert!(writer.acknowledged.len() > disk.losses, "{:?}", writer.acknowledged);
    site.nothing_is_told_twice(&report);
    assert!(!site.log().contains("panicked"), "{}", site.story());
    drop(service);
}

#[test]
fn what_is_acknowledged_outlasts_the_power() {
    let _turn = turn();
    the_power_fails(1, 1);
}

#[test]
fn everything_of_a_sweep_of_seeds() {
    let seeds = std::env::var(SEEDS).unwrap_or_else(|_| "1-5".to_owned());
    let (first, last) = seeds.split_once('-').unwrap_or((&seeds, &seeds));
    for seed in first.parse().unwrap()..=last.parse::<u64>().unwrap() {
        let _turn = turn();
        the_power_fails(seed, 2);
    }
}
