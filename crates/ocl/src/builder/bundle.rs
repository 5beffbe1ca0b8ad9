//! What people need who look into a build afterwards, in one folder that goes with the host's logs: without secrets, and bounded
//! (ocl-day1 §B13).

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use assisted_wire::on_cluster_layering::Pool;

use super::render::{self, Pass};
use super::{Machine, Progress};
use crate::paths;

/// The folder; the agent packs it with the host's logs.
pub const DIR: &str = "/var/log/ocl";
/// A longer file loses what stands in its middle, in bytes.
const HEAD: u64 = 1 << 20;
const TAIL: u64 = 4 << 20;
const MOST_FILES: usize = 200;
const LIMIT: Duration = Duration::from_secs(60);

/// What programs say of the machine, each into a file.
const ASKED: [(&str, &str, &[&str]); 10] = [
    ("podman-ps.txt", "podman", &["ps", "--all"]),
    ("podman-images.txt", "podman", &["images", "--digests"]),
    ("podman-info.txt", "podman", &["info"]),
    ("registry.log", "podman", &["logs", "--tail=10000", "ocl-registry"]),
    ("registry-rw.log", "podman", &["logs", "--tail=10000", "ocl-registry-rw"]),
    ("df.txt", "df", &["-hT"]),
    ("free.txt", "free", &["-m"]),
    ("lsblk.json", "lsblk", &["--output-all", "--json"]),
    ("ostree-status.txt", "ostree", &["admin", "status"]),
    ("cmdline.txt", "cat", &["/proc/cmdline"]),
];

/// Writes the folder anew. What can't be had is told in it.
///
/// # Errors
/// When the folder can't be written.
pub async fn write(machine: &Machine) -> io::Result<()> {
    machine.fresh_dir(DIR)?;
    let mut missing = Vec::new();
    let mut files = 0;
    for folder in [paths::DIR, paths::STATE] {
        let Ok(entries) = fs::read_dir(machine.path(folder)) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            // Folders hold credentials and what was rendered.
            if !is_file || name == "lock" || files == MOST_FILES {
                continue;
            }
            files += 1;
            if let Err(error) = copy(&entry.path(), machine, &name) {
                missing.push(format!("{name}: {error}"));
            }
        }
    }
    for pool in ["master", "worker"] {
        let path = machine.path(format!("{}/Containerfile", super::context::dir(pool)));
        if path.exists()
            && let Err(error) = copy(&path, machine, &format!("Containerfile.{pool}"))
        {
            missing.push(format!("Containerfile.{pool}: {error}"));
        }
    }
    write_rendered(machine)?;
    for (name, program, args) in ASKED {
        let done = machine.cmd(LIMIT, program).args(args).merged().output_limit(4 << 20).run().await;
        match done {
            Ok(done) => machine.write(&format!("{DIR}/{name}"), 0o600, super::redact(&done.text()))?,
            Err(error) => missing.push(format!("{name}: {error}")),
        }
    }
    if !missing.is_empty() {
        machine.write(&format!("{DIR}/missing.txt"), 0o600, super::redact(&missing.join("\n")))?;
    }
    Ok(())
}

/// What the folder tells of a pool's image: its Containerfile, and what the builds wrote.
///
/// # Errors
/// When the folder can't be read.
pub fn read_logs(machine: &Machine, pool: Pool) -> io::Result<Vec<(String, String)>> {
    let begins = [format!("Containerfile.{pool}"), format!("build-{pool}-"), format!("push-{pool}-")];
    let mut logs = Vec::new();
    for entry in fs::read_dir(machine.path(DIR))?.flatten().take(MOST_FILES) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if begins.iter().any(|begin| name.starts_with(begin.as_str())) {
            let text = machine.read(&format!("{DIR}/{name}"))?;
            logs.push((name, String::from_utf8_lossy(&text).into_owned()));
        }
    }
    logs.sort();
    Ok(logs)
}

/// Names and images of what was rendered, and what differs; of the contents nothing.
fn write_rendered(machine: &Machine) -> io::Result<()> {
    let Ok(Some(progress)) = Progress::read(machine) else { return Ok(()) };
    let mut text = String::new();
    for build in &progress.builds {
        let [first, second] = [Pass::First, Pass::Second].map(|pass| render::read(machine, pass, build.pool));
        for (pass, rendered) in [("first", &first), ("second", &second)] {
            let line = match rendered {
                Ok(rendered) => {
                    format!("{} {pass}: {} osImageURL={}\n", build.pool, rendered.name, rendered.os_image())
                }
                Err(error) => format!("{} {pass}: {}\n", build.pool, error.reason),
            };
            text.push_str(&line);
        }
        if let (Ok(first), Ok(second)) = (&first, &second) {
            let differences = render::differences(first, second).join(", ");
            text.push_str(&format!("{} differs, besides the image, in: {differences}\n", build.pool));
        }
    }
    machine.write(&format!("{DIR}/rendered.txt"), 0o600, text)
}

/// Copies a text, redacted; of a long one its beginning and its end.
fn copy(from: &Path, machine: &Machine, name: &str) -> io::Result<()> {
    let mut file = File::open(from)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    if length <= HEAD + TAIL {
        file.read_to_end(&mut bytes)?;
    } else {
        (&mut file).take(HEAD).read_to_end(&mut bytes)?;
        bytes.extend(format!("\n… {} bytes are left out …\n", length - HEAD - TAIL).bytes());
        file.seek(SeekFrom::End(-i64::try_from(TAIL).unwrap_or_default()))?;
        file.take(TAIL).read_to_end(&mut bytes)?;
    }
    machine.write(&format!("{DIR}/{name}"), 0o600, super::redact(&String::from_utf8_lossy(&bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::tests::scripted;

    #[tokio::test]
    async fn it_holds_what_is_asked_for_and_no_secret() {
        let dir = tempfile::tempdir().unwrap();
        let machine = scripted(dir.path(), "echo \"$line\"");
        for (path, text) in [
            ("config.json", "{}".to_owned()),
            ("mosc-master.yaml", "RUN TOKEN=hunter2 x".to_owned()),
            ("secrets/push.json", r#"{"auths":{"a":{"auth":"hunter2"}}}"#.to_owned()),
            ("registry/htpasswd", "hunter2".to_owned()),
            ("state/status.json", r#"{"builds":[]}"#.to_owned()),
            ("state/build-master-1.log", format!("begin\n{}\nend", "x".repeat(6 << 20))),
        ] {
            machine.write(&format!("{}/{path}", paths::DIR), 0o600, text).unwrap();
        }
        write(&machine).await.unwrap();
        let mut names: Vec<_> = fs::read_dir(machine.path(DIR))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        for name in [
            "config.json",
            "mosc-master.yaml",
            "status.json",
            "build-master-1.log",
            "podman-ps.txt",
            "rendered.txt",
        ] {
            assert!(names.iter().any(|other| other == name), "{name}: {names:?}");
        }
        for name in &names {
            let text = fs::read_to_string(machine.path(format!("{DIR}/{name}"))).unwrap();
            assert!(!text.contains("hunter2"), "{name}");
            assert!(text.len() < 6 << 20, "{name}");
        }
        let logs = read_logs(&machine, Pool::Master).unwrap();
        assert_eq!(logs.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["build-master-1.log"]);
        assert!(read_logs(&machine, Pool::Worker).unwrap().is_empty());
        let log = fs::read_to_string(machine.path(format!("{DIR}/build-master-1.log"))).unwrap();
        assert!(log.starts_with("begin") && log.ends_with("end") && log.contains("are left out"));
    }
}
