//! The step `ntp-synchronizer` against a real chronyd that follows another one: on the loopback, without touching the
//! clock.

use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use assisted_agent::{HostSteps, Instruction, Outcome, Steps};
use assisted_hostinfo::Root;
use rand::Rng;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Far longer than it takes.
const PATIENCE: Duration = Duration::from_secs(20);

struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn chronyd(program: &Path, dir: &TempDir, name: &str, more: &str) -> Daemon {
    let at = dir.path().display();
    let config = format!("cmdport 0\nbindcmdaddress {at}/{name}.sock\npidfile {at}/{name}.pid\n{more}");
    let path = dir.path().join(format!("{name}.conf"));
    std::fs::write(&path, config).unwrap();
    let log = std::fs::File::create(dir.path().join(format!("{name}.log"))).unwrap();
    // In the foreground, the clock left alone, as the user that owns the directory.
    let mut command = Command::new(program);
    command.args(["-d", "-x", "-u", "root", "-f"]).arg(path);
    Daemon(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap())
}

async fn run(steps: &HostSteps, sources: &str) -> Outcome {
    let args = vec![json!({ "ntp_source": sources }).to_string()];
    let step_type = "ntp-synchronizer".to_owned();
    steps.run(&Instruction { step_type, args, ..Instruction::default() }).await
}

/// Runs the step until its answer is as wanted.
async fn until(steps: &HostSteps, sources: &str, wanted: impl Fn(&[(String, String)]) -> bool) {
    let mut last = Outcome::default();
    let seen = tokio::time::timeout(PATIENCE, async {
        loop {
            last = run(steps, sources).await;
            let answer: Value = serde_json::from_str(&last.output).unwrap_or_default();
            let text = |source: &Value, name: &str| source[name].as_str().unwrap_or_default().to_owned();
            let found: Vec<_> = answer["ntp_sources"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|source| (text(source, "source_name"), text(source, "source_state")))
                .collect();
            if last.exit_code == 0 && wanted(&found) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    assert!(seen.await.is_ok(), "{sources:?}: {last:?}");
}

#[tokio::test]
async fn sources_are_added_once_and_told_with_their_states() {
    let program = ["/usr/sbin/chronyd", "/usr/bin/chronyd"].iter().map(Path::new).find(|path| path.exists());
    let program = program.expect("chronyd is missing: run `cargo xtask setup`");
    assert!(rustix::process::geteuid().is_root(), "the port of NTP needs root: run these tests as root");
    let dir = tempfile::tempdir().unwrap();
    // chronyd opens no command socket where others could look in.
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut random = rand::rng();
    let mut address = |net| Ipv4Addr::new(127, net, random.random(), random.random_range(1..255)).to_string();
    let (alive, dead) = (address(77), address(78));
    let _server = chronyd(
        program,
        &dir,
        "server",
        &format!("bindaddress {alive}\nallow 127.0.0.0/8\nlocal stratum 5\n"),
    );
    // Polls dozens of times a second: it is in step at once.
    let client = format!("port 0\nserver {alive} iburst minpoll -6 maxpoll -6\n");
    let client = chronyd(program, &dir, "client", &client);
    let steps = HostSteps::new(Root::live(), None).chrony_socket(dir.path().join("client.sock"));

    let is = |source: &(String, String), name: &str, state: &str| source.0 == name && source.1 == state;
    until(&steps, "", |found| found.len() == 1 && is(&found[0], &alive, "synced")).await;
    // One that is there, one that is new, and a name.
    let both = format!("{alive}, {dead},localhost");
    until(&steps, &both, |found| {
        found.len() == 3
            && is(&found[0], &alive, "synced")
            && is(&found[1], &dead, "unreachable")
            && ["127.0.0.1", "::1"].contains(&found[2].0.as_str())
    })
    .await;
    for _ in 0..2 {
        until(&steps, &both, |found| found.len() == 3).await;
    }

    drop(client);
    let outcome = run(&steps, &dead).await;
    assert_eq!((outcome.exit_code, outcome.output.as_str()), (-1, ""));
    assert!(outcome.error.starts_with("chronyc exited with 1: "), "{}", outcome.error);
}
