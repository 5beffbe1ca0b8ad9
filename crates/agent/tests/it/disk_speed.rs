//! The step that measures a disk, on disks that are files.

use std::path::Path;
use std::process::Command;

use assisted_agent::{HostSteps, Instruction, Outcome, Steps};
use assisted_base::process::Tools;
use assisted_hostinfo::Root;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::script::script;

const SIZE: usize = 32 << 20;
/// What the check overwrites.
const WRITTEN: usize = (22 << 20) / 2_300 * 2_300;

/// A disk that is a file; it goes with this value.
struct Disk {
    device: String,
    dir: TempDir,
}

fn run(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().expect("run `cargo xtask setup`");
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl Disk {
    fn new() -> Self {
        assert!(rustix::process::geteuid().is_root(), "loop devices need root: run these tests as root");
        // In memory: how fast this machine's own disk is must not matter.
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let file = dir.path().join("disk");
        std::fs::write(&file, vec![0; SIZE]).unwrap();
        let device = run("losetup", &["--find", "--show", file.to_str().unwrap()]);
        Self { device, dir }
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.dir.path().join("disk")).unwrap()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.device]).status();
    }
}

async fn check(path: &str, limit: &str, tools: Tools) -> Outcome {
    let args = vec![json!({ "path": path }).to_string(), limit.to_owned()];
    let step_type = "installation-disk-speed-check".to_owned();
    let steps = HostSteps::new(Root::live(), None).tools(tools);
    steps.run(&Instruction { step_type, args, ..Instruction::default() }).await
}

fn no_tools(dir: &Path) -> Tools {
    Tools::at(dir.join("nothing-here"))
}

#[tokio::test]
async fn a_disk_is_measured_with_the_tool_and_without() {
    let disk = Disk::new();
    // A name with colons, as many real disks have.
    let link = disk.dir.path().join("pci-0000:00:01.0");
    std::os::unix::fs::symlink(&disk.device, &link).unwrap();
    for tools in [no_tools(disk.dir.path()), Tools::default()] {
        let outcome = check(&disk.device, "120.00", tools).await;
        assert_eq!((outcome.exit_code, outcome.error.as_str()), (0, ""));
        let answer: Value = serde_json::from_str(&outcome.output).unwrap();
        assert_eq!(answer["path"], disk.device.as_str());
        assert!(answer.get("io_sync_duration").is_none_or(|time| time.as_i64() < Some(120_000)), "{answer}");
    }
    let bytes = disk.bytes();
    assert!(
        bytes[..WRITTEN].iter().any(|byte| *byte != 0)
            && bytes[WRITTEN + 2_300..].iter().all(|byte| *byte == 0)
    );
    let outcome = check(link.to_str().unwrap(), "120.00", Tools::default()).await;
    assert_eq!((outcome.exit_code, outcome.error.as_str()), (0, ""));
}

#[tokio::test]
async fn a_disk_in_use_is_left_alone() {
    let disk = Disk::new();
    run("mkfs.ext4", &["-q", &disk.device]);
    let point = disk.dir.path().join("mounted");
    std::fs::create_dir(&point).unwrap();
    run("mount", &[&disk.device, point.to_str().unwrap()]);
    let before = disk.bytes();
    let outcome = check(&disk.device, "60.00", no_tools(disk.dir.path())).await;
    let after = disk.bytes();
    run("umount", &[point.to_str().unwrap()]);
    assert_eq!(outcome.exit_code, -1);
    assert!(outcome.error.contains("it is in use: mounted on "), "{}", outcome.error);
    assert_eq!(outcome.output, json!({ "path": disk.device }).to_string());
    assert!(before[..1 << 20] == after[..1 << 20], "nothing was written");
}

#[tokio::test]
async fn what_cannot_be_measured_is_told() {
    let disk = Disk::new();
    let script = |text: &str| {
        script(&disk.dir.path().join("fio"), text);
        Tools::at(disk.dir.path())
    };
    let outcome = check(&disk.device, "60.00", script("echo broken >&2; exit 7")).await;
    let told =
        format!("Could not get I/O performance for path {} (fio exit code: 7, stderr: broken)", disk.device);
    assert_eq!((outcome.exit_code, outcome.error.as_str()), (-1, told.as_str()));
    let outcome = check(&disk.device, "60.00", script("echo garbage")).await;
    assert!(outcome.exit_code == -1 && outcome.error.contains("says no latency"), "{outcome:?}");
    let outcome = check(&disk.device, "1.00", script("exec sleep 1000")).await;
    assert_eq!((outcome.exit_code, outcome.output.as_str()), (124, ""));
    for (path, limit) in
        [("/dev/null", "60.00"), ("/dev/none", "60.00"), ("/etc/passwd", "60.00"), ("/dev/null", "x")]
    {
        assert_eq!(check(path, limit, Tools::default()).await.exit_code, -1, "{path} {limit}");
    }
}
