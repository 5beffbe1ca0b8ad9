//! Units, as systemd judges them, and containers of units.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use assisted_package::image::Kind;
use assisted_testkit::built;

use crate::world::{root, run};

/// How exposed the service may be, in tenths of systemd's scale from 0 to 10.
const MOST_EXPOSED: &str = "20";

#[test]
fn systemd_takes_the_unit_and_finds_it_closed() {
    let dir = tempfile::tempdir().unwrap();
    let unit = dir.path().join("assisted.service");
    let text = fs::read_to_string(root("deploy/systemd/assisted.service")).unwrap();
    // The program is not installed here.
    let program = built("assisted").unwrap();
    fs::write(&unit, text.replace("/usr/bin/assisted", program.to_str().unwrap())).unwrap();
    let analyze = || Command::new("systemd-analyze");
    let told = run(analyze().args(["--man=no", "verify"]).arg(&unit));
    assert!(!told.contains("assisted"), "{told}");
    let threshold = format!("--threshold={MOST_EXPOSED}");
    run(analyze().args(["security", "--offline=true", "--no-pager", &threshold]).arg(&unit));
    // The measure measures: the same unit without its walls does not pass.
    let open: String = text
        .lines()
        .filter(|line| !line.contains("Protect") && !line.contains("SystemCall"))
        .fold(String::new(), |text, line| text + line + "\n");
    fs::write(&unit, open).unwrap();
    let judged =
        analyze().args(["security", "--offline=true", "--no-pager", &threshold]).arg(&unit).output().unwrap();
    assert!(!judged.status.success(), "{}", String::from_utf8_lossy(&judged.stdout));
}

/// Keys of podman-systemd.unit(5), sections [Container] and [Volume], that this project uses.
const KEYS: &[&str] = &[
    "AutoUpdate",
    "ContainerName",
    "DropCapability",
    "Environment",
    "Exec",
    "Image",
    "Network",
    "NoNewPrivileges",
    "ReadOnly",
    "Tmpfs",
    "Volume",
    "VolumeName",
];

#[test]
fn containers_of_units_fit_together() {
    let read = |name: &str| fs::read_to_string(root("deploy/podman").join(name)).unwrap();
    let container = read("assisted.container");
    let section = |text: &str, name: &str| {
        let after = text.split_once(&format!("[{name}]\n")).unwrap().1.to_owned();
        let lines = after.lines().take_while(|line| !line.starts_with('[')).map(str::to_owned);
        lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect::<Vec<_>>()
    };
    let lines: Vec<_> = section(&container, "Container")
        .into_iter()
        .chain(section(&read("assisted-data.volume"), "Volume"))
        .collect();
    let pairs: Vec<_> = lines.iter().map(|line| line.split_once('=').unwrap()).collect();
    let unknown: BTreeSet<_> = pairs.iter().map(|(key, _)| *key).filter(|key| !KEYS.contains(key)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    let value = |key: &str| pairs.iter().find(|(name, _)| *name == key).unwrap().1;
    assert_eq!(value("Image"), Kind::Service.default_name());
    // A volume is named by the file that describes it.
    let (volume, place) = value("Volume").split_once(':').unwrap();
    assert!(
        root("deploy/podman").join(volume).is_file() && value("Exec").ends_with(place),
        "{volume} {place}"
    );
    // What systemd itself reads of it stands in sections that it knows.
    let dir = tempfile::tempdir().unwrap();
    let rest = container
        .replace("[Container]", "[X-Container]")
        .replace("[Service]", &format!("[Service]\nExecStart={}", built("assisted").unwrap().display()));
    let unit = dir.path().join("assisted-container.service");
    fs::write(&unit, rest).unwrap();
    let told = run(Command::new("systemd-analyze").args(["--man=no", "verify"]).arg(&unit));
    assert!(!told.contains("assisted"), "{told}");
}
