//! What people need who look into a build afterwards, in one folder that goes with the host's logs: without secrets, and bounded
//! (ocl-day1 §B13).

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use assisted_wire::on_cluster_layering::Pool;
use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, Header};

use super::render::{self, Pass};
use super::{Machine, Progress};
use crate::paths;

/// The folder; the agent packs it with the host's logs.
pub const DIR: &str = "/var/log/ocl";
/// A longer file loses what stands in its middle, in bytes.
const HEAD: u64 = 1 << 20;
const TAIL: u64 = 4 << 20;
const MOST_FILES: usize = 200;
/// Bytes of an archive before it is compressed, at most.
const MOST_PACKED: usize = 64 << 20;
const LIMIT: Duration = Duration::from_secs(60);

/// What programs say of the machine, each into a file.
const ASKED: [(&str, &str, &[&str]); 11] = [
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
    // Errors of disks among them.
    ("dmesg.txt", "dmesg", &["-T", "--level=err,warn"]),
];

/// Writes the folder anew. What can't be had is told in it.
///
/// # Errors
/// When the folder can't be written.
pub async fn write(machine: &Machine) -> io::Result<()> {
    machine.fresh_dir(DIR)?;
    let mut missing = Vec::new();
    for (name, path) in files(machine) {
        let copied = excerpt(&path).and_then(|text| machine.write(&format!("{DIR}/{name}"), 0o600, text));
        if let Err(error) = copied {
            missing.push(format!("{name}: {error}"));
        }
    }
    write_rendered(machine)?;
    for (name, program, args) in ASKED {
        ask(machine, name, program, args, &mut missing).await?;
    }
    if let Some(device) = disk(machine) {
        ask(machine, "sgdisk.txt", "sgdisk", &["-p", &device], &mut missing).await?;
    }
    if !missing.is_empty() {
        machine.write(&format!("{DIR}/missing.txt"), 0o600, super::redact(&missing.join("\n")))?;
    }
    Ok(())
}

/// What a program says, in a file of the folder.
async fn ask(
    machine: &Machine,
    name: &str,
    program: &str,
    args: &[&str],
    missing: &mut Vec<String>,
) -> io::Result<()> {
    match machine.cmd(LIMIT, program).args(args).merged().output_limit(4 << 20).run().await {
        Ok(done) => machine.write(&format!("{DIR}/{name}"), 0o600, super::redact(&done.text())),
        Err(error) => {
            missing.push(format!("{name}: {error}"));
            Ok(())
        }
    }
}

/// What the build of one pool's image has written, as an archive (tar.gz) for the service: without secrets, and bounded.
///
/// # Errors
/// When it can't be packed.
pub fn pack(machine: &Machine, pool: Pool) -> io::Result<Vec<u8>> {
    let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    let (mut room, mut missing) = (MOST_PACKED, Vec::new());
    for (name, path) in files(machine).into_iter().filter(|(name, _)| !is_of_another(name, pool)) {
        match excerpt(&path) {
            Ok(text) if text.len() <= room => {
                room -= text.len();
                append(&mut archive, &name, &text)?;
            }
            Ok(text) => missing.push(format!("{name}: {} bytes find no room", text.len())),
            Err(error) => missing.push(format!("{name}: {error}")),
        }
    }
    if !missing.is_empty() {
        append(&mut archive, "missing.txt", &super::redact(&missing.join("\n")))?;
    }
    archive.into_inner()?.finish()
}

fn append(archive: &mut Builder<impl Write>, name: &str, text: &str) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(text.len() as u64);
    archive.append_data(&mut header, format!("ocl/{name}"), text.as_bytes())
}

/// Whether a file is of the build of another pool, by its name.
fn is_of_another(name: &str, pool: Pool) -> bool {
    let of = |other: &Pool| name.split(['-', '.']).any(|part| part == other.as_str());
    Pool::ALL.iter().filter(|other| **other != pool).any(of)
}

/// What the builder was given and has written: names, and where each is.
fn files(machine: &Machine) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for folder in [paths::DIR, paths::STATE] {
        let Ok(entries) = fs::read_dir(machine.path(folder)) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            // Folders hold credentials and what was rendered.
            if is_file && name != "lock" && found.len() < MOST_FILES {
                found.push((name, entry.path()));
            }
        }
    }
    for pool in Pool::ALL {
        let name = format!("Containerfile.{pool}");
        // The first goes with the room for the build, the second stays where a build has failed.
        let places =
            [format!("{}/Containerfile", super::context::dir(pool.as_str())), format!("{DIR}/{name}")];
        if let Some(path) = places.iter().map(|place| machine.path(place)).find(|path| path.exists()) {
            found.push((name, path));
        }
    }
    found.sort();
    found
}

/// The disk that the installer has named, if it has.
fn disk(machine: &Machine) -> Option<String> {
    let told: serde_json::Value = serde_json::from_slice(&machine.read(super::scratch::DISK).ok()?).ok()?;
    told["device"].as_str().map(str::to_owned)
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

/// A text, redacted; of a long one its beginning and its end.
fn excerpt(from: &Path) -> io::Result<String> {
    let mut file = File::open(from)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    if length <= HEAD + TAIL {
        file.take(HEAD + TAIL).read_to_end(&mut bytes)?;
    } else {
        (&mut file).take(HEAD).read_to_end(&mut bytes)?;
        bytes.extend(format!("\n… {} bytes are left out …\n", length - HEAD - TAIL).bytes());
        file.seek(SeekFrom::End(-i64::try_from(TAIL).unwrap_or_default()))?;
        file.take(TAIL).read_to_end(&mut bytes)?;
    }
    Ok(super::redact(&String::from_utf8_lossy(&bytes)))
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

    /// The files of an archive by their names.
    fn unpacked(archive: &[u8]) -> Vec<(String, String)> {
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(archive));
        let mut found = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            found.push((entry.path().unwrap().display().to_string(), text));
        }
        found
    }

    #[test]
    fn each_pool_has_an_archive_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path(), assisted_base::process::Tools::default());
        for (path, text) in [
            ("config.json", "{}"),
            ("mosc-master.yaml", "kind: MachineOSConfig"),
            ("mosc-worker.yaml", "kind: MachineOSConfig"),
            ("secrets/push.json", r#"{"auths":{"a":{"auth":"hunter2"}}}"#),
            ("state/status.json", r#"{"builds":[]}"#),
            ("state/pass1.log", "rendered"),
            ("state/build-master-1.log", "RUN TOKEN=hunter2 x\nno such package"),
            ("state/push-worker-1.log", "denied"),
        ] {
            machine.write(&format!("{}/{path}", paths::DIR), 0o600, text).unwrap();
        }
        for pool in ["master", "worker"] {
            let path = format!("{}/Containerfile", crate::builder::context::dir(pool));
            machine.write(&path, 0o600, format!("FROM {pool}")).unwrap();
        }
        let names = |pool| -> Vec<_> {
            unpacked(&pack(&machine, pool).unwrap()).into_iter().map(|(name, _)| name).collect()
        };
        let master = [
            "Containerfile.master",
            "build-master-1.log",
            "config.json",
            "mosc-master.yaml",
            "pass1.log",
            "status.json",
        ];
        assert_eq!(names(Pool::Master), master.map(|name| format!("ocl/{name}")));
        let worker = [
            "Containerfile.worker",
            "config.json",
            "mosc-worker.yaml",
            "pass1.log",
            "push-worker-1.log",
            "status.json",
        ];
        assert_eq!(names(Pool::Worker), worker.map(|name| format!("ocl/{name}")));
        let texts = unpacked(&pack(&machine, Pool::Master).unwrap());
        let log = texts.iter().find(|(name, _)| name == "ocl/build-master-1.log").unwrap();
        assert!(log.1.contains("no such package"), "{}", log.1);
        assert!(texts.iter().all(|(_, text)| !text.contains("hunter2")), "{texts:?}");
    }
}
