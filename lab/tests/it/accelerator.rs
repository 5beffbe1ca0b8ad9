//! A computer whose KVM is there and fails: in the boot loader, after it, in the middle of an installation. What fails is the
//! stand-in of `stand_in/broken_kvm.rs`, which emulates up to there.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use assisted_lab_machines::machine::{Accelerator, Boot, Disk, Firmware, Hypervisor, Machine, Spec};
use serde_json::{Value, json};

use assisted_testkit::{built, cache};

use crate::support::{INSTALLATION, console, image, output, text};

/// How the kernel's first program greets, in the initramfs.
const INITRAMFS: &str = "(Initramfs)";

/// A boot without KVM on a busy computer.
const BOOT: Duration = Duration::from_secs(600);

/// A QEMU whose KVM fails at a point.
pub fn broken(dir: &Path, at: &Value) -> PathBuf {
    let program = dir.join("qemu");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_broken-kvm"), &program).unwrap();
    std::fs::write(dir.join("qemu.at"), at.to_string()).unwrap();
    program
}

/// The computer with this QEMU, as each new process meets it.
fn hypervisor(dir: &Path) -> Arc<Hypervisor> {
    with_verdicts(dir, dir.join("verdicts"))
}

fn with_verdicts(dir: &Path, verdicts: PathBuf) -> Arc<Hypervisor> {
    Arc::new(Hypervisor::new(dir.join("qemu"), Some(verdicts), Some(image())))
}

/// A computer where KVM has passed the trial, and fails at a point.
fn trusted(dir: &Path, verdicts: PathBuf, at: &Value) -> Arc<Hypervisor> {
    broken(dir, &json!({"console": "ISOLINUX"}));
    let judged = with_verdicts(dir, verdicts.clone());
    judged.verdict(|_| ());
    let kept = judged.kept_in().unwrap();
    let mut verdict: Value = serde_json::from_slice(&std::fs::read(&kept).unwrap()).unwrap();
    verdict["accelerator"] = "kvm".into();
    std::fs::write(&kept, verdict.to_string()).unwrap();
    std::fs::write(dir.join("qemu.at"), at.to_string()).unwrap();
    let trusted = with_verdicts(dir, verdicts);
    assert_eq!(trusted.verdict(|_| ()).accelerator, Accelerator::Kvm);
    trusted
}

/// What a machine has said: one that was stopped may have been cut off within a letter.
fn read(console: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(console).unwrap()).into_owned()
}

fn machine() -> Spec {
    let mut spec = Spec::new("one", Firmware::Bios, Boot::Cd(image().iso()));
    spec.nics.clear();
    spec.disks = vec![Disk { bytes: 1 << 30 }];
    spec
}

#[test]
fn kvm_that_fails_in_the_boot_loader_is_not_used_and_tried_once() {
    let dir = tempfile::tempdir().unwrap();
    broken(dir.path(), &json!({"console": "ISOLINUX"}));
    let hypervisor = hypervisor(dir.path());
    let told = std::cell::RefCell::new(Vec::new());
    let tell = |line: &str| told.borrow_mut().push(line.to_owned());
    let verdict = hypervisor.verdict(tell);
    assert_eq!(verdict.accelerator, Accelerator::Tcg);
    assert!(verdict.why.contains("before \"the live system\" came"), "{verdict:?}");
    assert!(verdict.why.contains("internal error"), "{verdict:?}");
    assert_eq!(told.borrow().len(), 1, "{told:?}");
    assert!(told.borrow()[0].contains("two minutes at most"), "{told:?}");
    // What was seen is there to be looked at.
    let kept = hypervisor.kept_in().unwrap();
    let console = read(&kept.with_extension("").join("bios/console.log"));
    assert!(console.contains("ISOLINUX"), "{console}");
    assert_eq!(self::hypervisor(dir.path()).verdict(tell), verdict);
    assert_eq!(told.borrow().len(), 1, "it was tried again");
}

#[test]
fn kvm_that_fails_on_uefi_alone_is_not_used() {
    let dir = tempfile::tempdir().unwrap();
    broken(dir.path(), &json!("never"));
    // Any line: the first one comes with the boot loader.
    std::fs::write(dir.path().join("qemu.trial-uefi.at"), json!({"console": "\n"}).to_string()).unwrap();
    let hypervisor = hypervisor(dir.path());
    let verdict = hypervisor.verdict(|_| ());
    assert_eq!(verdict.accelerator, Accelerator::Tcg, "{verdict:?}");
    for part in ["trial-uefi stopped before", "internal error"] {
        assert!(verdict.why.contains(part), "no {part:?} in {verdict:?}");
    }
    let consoles = hypervisor.kept_in().unwrap().with_extension("");
    let console = read(&consoles.join("uefi/console.log"));
    assert!(console.contains('\n'), "{console}");
}

#[test]
fn a_machine_whose_kvm_fails_after_the_boot_loader_starts_again_without_it_and_so_do_later_ones() {
    let dir = tempfile::tempdir().unwrap();
    let hypervisor = trusted(dir.path(), dir.path().join("verdicts"), &json!({"console": INITRAMFS}));
    let start = |hypervisor: &Arc<Hypervisor>, name: &str| {
        Machine::start_by(hypervisor, None, &machine(), &dir.path().join(name)).unwrap()
    };
    let mut machine = start(&hypervisor, "one");
    assert_eq!(machine.accelerator(), Accelerator::Kvm);
    // Told on the console just before it fails, and so a second time.
    machine.wait_for("systemd-", BOOT).unwrap();
    assert_eq!(machine.accelerator(), Accelerator::Tcg);
    let log = read(&dir.path().join("one/console.log"));
    assert_eq!(log.matches(INITRAMFS).count(), 2, "{log}");
    let events = std::fs::read_to_string(dir.path().join("one/qmp.log")).unwrap();
    assert!(events.contains("STOP") && events.contains("internal-error"), "{events}");
    assert_eq!(start(&hypervisor, "two").accelerator(), Accelerator::Tcg);
    let verdict = self::hypervisor(dir.path()).verdict(|_| ());
    assert_eq!(verdict.accelerator, Accelerator::Tcg);
    assert!(verdict.why.starts_with("one stopped before"), "{verdict:?}");
}

#[test]
fn a_machine_with_something_on_its_disk_is_not_started_again_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let hypervisor = trusted(dir.path(), dir.path().join("verdicts"), &json!({"console": "ISOLINUX"}));
    let place = dir.path().join("one");
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("disk0.raw"), [7; 4096]).unwrap();
    let mut machine = Machine::start_by(&hypervisor, None, &machine(), &place).unwrap();
    let error = machine.wait_for(INITRAMFS, BOOT).unwrap_err();
    assert!(error.is_of_kvm(), "{error}");
    let told = error.to_string();
    for part in ["one stopped before", "internal error", "ASSISTED_LAB_ACCELERATOR=tcg", "console.log"] {
        assert!(told.contains(part), "no {part:?} in: {told}");
    }
    // Whoever begins again has another accelerator.
    assert_eq!(hypervisor.verdict(|_| ()).accelerator, Accelerator::Tcg);
}

#[test]
fn everything_an_installation_begins_again_without_kvm_when_that_fails_while_a_disk_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let program = built("assisted-lab").unwrap();
    // The command line keeps its verdicts in the cache; this one's program is its own.
    let verdicts = cache().unwrap().join("accelerator");
    let trusted = trusted(dir.path(), verdicts.clone(), &json!({"disk": 100 << 20}));
    let mut up = Command::new(program);
    up.args(["up", "--once", "--topology", "sno", "--dir", text(&dir.path().join("lab"))]);
    up.env("ASSISTED_LAB_QEMU", dir.path().join("qemu")).env_remove("ASSISTED_LAB_ACCELERATOR");
    let up = output(&mut up, INSTALLATION);
    let told = String::from_utf8_lossy(&up.stdout);
    let verdict = with_verdicts(dir.path(), verdicts).verdict(|_| ());
    let kept = trusted.kept_in().unwrap();
    std::fs::remove_file(&kept).unwrap();
    let _ = std::fs::remove_dir_all(kept.with_extension(""));
    let _ = std::fs::remove_file(kept.with_extension("lock"));
    let said = String::from_utf8_lossy(&up.stderr);
    assert!(up.status.success(), "{told}\n{said}{}", console(&dir.path().join("lab/master-0")));
    for line in [
        "machines are run by KVM",
        "KVM failed with master-0 in the middle of the installation",
        "The installation, once more",
        "cluster lab: installed 100%",
    ] {
        assert!(told.contains(line), "no {line:?} in:\n{told}\n{said}");
    }
    assert_eq!(verdict.accelerator, Accelerator::Tcg);
}
