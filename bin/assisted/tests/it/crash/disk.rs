//! The disk is full: the service says so, loses nothing, and goes on when there is room again.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::{Site, turn};

/// A small file system of its own; unmounted when it is dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(path: &Path) -> Self {
        std::fs::create_dir_all(path).unwrap();
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", "size=16m", "tmpfs"]).arg(path).output().unwrap();
        let why = String::from_utf8_lossy(&mounted.stderr);
        assert!(mounted.status.success(), "a small disk needs root: run these tests as root ({why})");
        Self(path.to_owned())
    }

    /// Takes all room that there is.
    fn fill(&self) {
        let filler = std::fs::File::options().create(true).append(true).open(self.0.join("filler")).unwrap();
        let piece = [0_u8; 4096];
        while (&filler).write_all(&piece).is_ok() {}
    }

    fn make_room(&self) {
        std::fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// Uploads a manifest that takes some room; gives the whole answer.
fn upload(site: &Site, cluster: &str) -> String {
    // A comment of 48 kB, so that it is YAML.
    let content = format!("IyBh{}", "YWFh".repeat(16 * 1024));
    let body = format!(r#"{{"file_name":"late.yaml","content":"{content}"}}"#);
    let path = format!("/api/assisted-install/v2/clusters/{cluster}/manifests");
    let mut stream = TcpStream::connect(("127.0.0.1", site.port.number)).unwrap();
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn it_is_full_in_the_middle() {
    let _turn = turn();
    let site = Site::new(None);
    let disk = SmallDisk::mount(&site.data);
    let mut service = site.serve(&[]);
    site.until_ready();
    let simulation = site.simulate(&["--topology", "compact", "--clusters", "2"]);
    site.until_some_clusters();
    let (mut full, mut changed, mut told) = (false, Instant::now(), 0);
    let report = site.finish(simulation, || {
        assert!(!service.has_ended(), "a full disk is no reason to end\n{}", site.story());
        if changed.elapsed() < Duration::from_secs(1) {
            return;
        }
        if full {
            // What is there can be read; what is refused says why.
            let clusters = site.json(&["cluster", "list"]);
            let answer = upload(&site, clusters[0]["id"].as_str().unwrap());
            assert!(
                answer.starts_with("HTTP/1.1 507 ") && answer.contains("no room left on the disk"),
                "{answer}"
            );
            told += 1;
            disk.make_room();
        } else {
            disk.fill();
        }
        (full, changed) = (!full, Instant::now());
    });
    if full {
        disk.make_room();
    }
    assert!(told > 0, "{}", site.story());
    site.until_ready();
    site.nothing_is_told_twice(&report);
    drop(service);
}
