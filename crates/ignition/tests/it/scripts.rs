//! The scripts that the config brings, run for real.

use std::fs;
use std::path::Path;
use std::process::Command;

use assisted_ignition::discovery::TimeSources;

use crate::discovery::with;

/// The script that sets time sources, run on a folder with this chrony.conf.
fn chrony(sources: TimeSources<'static>, conf: &str, runs: u32) -> String {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("etc")).unwrap();
    fs::write(dir.path().join("etc/chrony.conf"), conf).unwrap();
    let script = with(
        |input| input.time = sources,
        |config| {
            let file =
                config.storage.files.iter().find(|file| file.path == "/usr/local/bin/add-ntp-sources.sh");
            file.unwrap().contents.data().unwrap()
        },
    );
    let path = dir.path().join("script");
    fs::write(&path, script).unwrap();
    for _ in 0..runs {
        assert!(Command::new("/bin/sh").arg(&path).env("ROOT", dir.path()).status().unwrap().success());
    }
    fs::read_to_string(dir.path().join("etc/chrony.conf")).unwrap()
}

#[test]
fn time_sources_are_added_once() {
    let conf = "pool pool.example.com iburst\nmakestep 1.0 3\nrtcsync\n";
    let expected = "pool pool.example.com iburst\nmakestep 1.0 -1\nrtcsync\nserver 192.0.2.1 iburst\nserver b.example.com iburst\n";
    for runs in [1, 2] {
        assert_eq!(chrony(TimeSources::Additional("192.0.2.1,b.example.com"), conf, runs), expected);
    }
    assert_eq!(chrony(TimeSources::Additional("a"), "", 1), "makestep 1.0 -1\nserver a iburst\n");
}

#[test]
fn time_sources_replace_others() {
    let conf = chrony(TimeSources::Only("192.0.2.1,b.example.com"), "pool pool.example.com iburst\n", 2);
    assert!(
        conf.starts_with(
            "server 192.0.2.1 iburst\nserver b.example.com iburst\nsourcedir /run/chrony-dhcp\n"
        ),
        "{conf}"
    );
    assert!(!conf.contains("pool") && conf.contains("makestep 1.0 -1\n"), "{conf}");
}

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/discovery/scripts");

#[test]
fn a_program_with_another_hash_is_never_put_into_place() {
    let dir = tempfile::tempdir().unwrap();
    let (source, target) = (dir.path().join("source"), dir.path().join("agent"));
    fs::write(&source, "abc").unwrap();
    let url = format!("file://{}", source.display());
    let fetch = |sha512: &str| {
        let mut command = Command::new("/bin/sh");
        command.arg(Path::new(SCRIPTS).join("agent-fetch")).args([&url, sha512]).arg(&target);
        command
    };
    assert!(fetch(crate::discovery::SHA512).status().unwrap().success());
    assert_eq!(fs::read_to_string(&target).unwrap(), "abc");
    // It is there already: nothing is fetched.
    fs::remove_file(&source).unwrap();
    assert!(fetch(crate::discovery::SHA512).status().unwrap().success());

    fs::write(&source, "abd").unwrap();
    fs::remove_file(&target).unwrap();
    // It would try for ever.
    let mut child = fetch(crate::discovery::SHA512).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut told = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut told, &mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.contains("another hash"), "{line}");
    assert!(!target.exists());
}

#[test]
fn the_shell_understands_them() {
    for entry in fs::read_dir(SCRIPTS).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let shell = text.lines().next().and_then(|line| line.strip_prefix("#!")).unwrap();
        assert!(Command::new(shell).arg("-n").arg(&path).status().unwrap().success(), "{}", path.display());
    }
}
