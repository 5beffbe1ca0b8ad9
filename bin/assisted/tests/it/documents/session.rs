//! A terminal in which commands of a document are typed, one after the other: bash, in a folder of its own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use assisted_testkit::wait::Wait;
use assisted_testkit::{built, tied};
use serde_json::Value;

use super::block::root;
use crate::service::PULL_SECRET;

/// How long a command may take, and one that installs machines or builds everything.
const LIMIT: Duration = Duration::from_secs(120);
const LONG: Duration = Duration::from_secs(2 * 60 * 60);

/// How the names of variables begin that say how this checkout is built, by CI or by hand, or where a user's settings are.
const OF_BUILD: [&str; 8] = [
    "ASSISTED_XTASK_",
    "CARGO_PROFILE_",
    "CARGO_TARGET_",
    "CLIPPY_ARGS",
    "GOPATH",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTFLAGS",
    "XDG_CONFIG_HOME",
];

/// Whose network commands have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// One of its own, where every port is free.
    Own,
    /// That of the test.
    Shared,
}

/// A terminal. Whatever was started in it ends with it.
pub struct Session {
    bash: Child,
    typed: ChildStdin,
    /// What commands said, and how they ended.
    notes: tempfile::TempDir,
    /// The folder in which they run, and its owner.
    dir: PathBuf,
    _owner: Option<tempfile::TempDir>,
    limit: Duration,
    number: usize,
}

impl Session {
    /// Opens a terminal; the programs are found by their names.
    pub fn open(network: Network, environment: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("home")).unwrap();
        std::fs::write(dir.path().join("pull-secret.json"), PULL_SECRET).unwrap();
        let mut command = Command::new("bwrap");
        command.args(["--dev-bind", "/", "/", "--proc", "/proc", "--unshare-pid", "--die-with-parent"]);
        if network == Network::Own {
            command.arg("--unshare-net");
        }
        command.args(["--chdir", &dir.path().display().to_string(), "bash", "--noprofile", "--norc"]);
        command.env("HOME", dir.path().join("home")).env("PATH", path()).env_remove("XDG_DATA_HOME");
        command.envs(environment.iter().copied());
        let mut session = Self::start(command, dir.path().to_owned(), LIMIT);
        session._owner = Some(dir);
        // Whoever runs the tests has all rights, or does without.
        session.run("sudo() { if [ \"$1\" = -b ]; then shift; (\"$@\" &); else \"$@\"; fi; }");
        session
    }

    /// Opens a terminal in the checkout, for what takes machines, a network or long builds.
    pub fn in_checkout(environment: &[(&str, &str)]) -> Self {
        let mut command = tied(Path::new("bash"));
        command.args(["--noprofile", "--norc"]).current_dir(root()).env("PATH", path());
        command.envs(environment.iter().copied());
        Self::start(command, root(), LONG)
    }

    /// Opens a terminal in another checkout, which knows nothing of what this one has built and how.
    pub fn in_clone(dir: PathBuf, environment: &[(&str, &str)]) -> Self {
        let mut command = tied(Path::new("bash"));
        command.args(["--noprofile", "--norc"]).current_dir(&dir);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let is_of_build = |begin: &&str| text.starts_with(*begin);
            if OF_BUILD.iter().any(is_of_build) {
                command.env_remove(&name);
            }
        }
        command.envs(environment.iter().copied());
        Self::start(command, dir, LONG)
    }

    fn start(mut command: Command, dir: PathBuf, limit: Duration) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut bash = command.spawn().expect("bubblewrap is missing: run `cargo xtask setup`");
        let typed = bash.stdin.take().unwrap();
        Self { bash, typed, notes: tempfile::tempdir().unwrap(), dir, _owner: None, limit, number: 0 }
    }

    /// The folder in which commands run.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Types a command, whose placeholders become what a reader would put there; it has to succeed.
    pub fn follow(&mut self, command: &str) {
        let command = self.filled(command);
        let (code, said) = self.type_in(&command);
        // 3 is an answer of this one: the machine can't be installed.
        let expected: &[i32] = if command.starts_with("assisted-host inspect") { &[0, 3] } else { &[0] };
        assert!(expected.contains(&code), "$ {command}\nended with {code}:\n{said}\n{}", self.everything());
        if command.contains(" serve ") {
            self.wait_for(&command, |said| said.contains("listening on http"));
        }
    }

    /// Types a command that goes on for ever, and ends it when it has said enough.
    pub fn watch(&mut self, command: &str, is_enough: impl Fn(&str) -> bool) {
        let command = self.filled(command);
        let command = command.split(" #").next().unwrap_or_default();
        self.type_in(&format!("{command} &"));
        self.wait_for(command, is_enough);
        self.run("kill $!; wait $! || true");
    }

    fn run(&mut self, command: &str) -> String {
        let (code, said) = self.type_in(command);
        assert_eq!(code, 0, "{command}: {said}");
        said
    }

    fn type_in(&mut self, command: &str) -> (i32, String) {
        self.number += 1;
        let (said, ended) = (self.note("said"), self.note("ended"));
        writeln!(
            self.typed,
            "{{ {command}\n}} > {0} 2>&1\necho $? > {1}.new; mv {1}.new {1}",
            said.display(),
            ended.display()
        )
        .unwrap();
        let mut wait = Wait::new(format!("the end of `{command}`"), said.display(), self.limit);
        loop {
            let text = || String::from_utf8_lossy(&std::fs::read(&said).unwrap_or_default()).into_owned();
            if let Ok(code) = std::fs::read_to_string(&ended) {
                return (code.trim().parse().unwrap(), text());
            }
            let over = self.bash.try_wait().unwrap();
            assert!(over.is_none(), "$ {command}\nended the terminal: {over:?}\n{}", text());
            self.go_on(&mut wait);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Goes on waiting, and says every half minute for what; once the time is up, the test fails with all that commands said.
    fn go_on(&self, wait: &mut Wait) {
        wait.go_on().unwrap_or_else(|late| panic!("{late}\n{}", self.everything()));
    }

    fn note(&self, what: &str) -> PathBuf {
        self.notes.path().join(format!("{:03}.{what}", self.number))
    }

    fn wait_for(&mut self, command: &str, wanted: impl Fn(&str) -> bool) {
        let said = self.note("said");
        let mut wait = Wait::new(format!("what `{command}` is to say"), said.display(), self.limit);
        loop {
            let text = String::from_utf8_lossy(&std::fs::read(&said).unwrap()).into_owned();
            if wanted(&text) {
                return;
            }
            self.go_on(&mut wait);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// A command in which placeholders are what commands before it have made.
    fn filled(&mut self, command: &str) -> String {
        let mut filled = command.to_owned();
        for (placeholder, kind) in
            [("INFRA-ENV-ID", "infra-env"), ("CLUSTER-ID", "cluster"), ("HOST", "host"), ("ID", "infra-env")]
        {
            let is_meant = |word: &str| word == placeholder;
            if filled.split(' ').any(is_meant) {
                let id = self.newest(kind);
                let words: Vec<_> =
                    filled.split(' ').map(|word| if is_meant(word) { id.as_str() } else { word }).collect();
                filled = words.join(" ");
            }
        }
        filled
    }

    /// The id of what was made last; hosts come when they come.
    fn newest(&mut self, kind: &str) -> String {
        let mut wait = Wait::new(format!("the first {kind}"), self.notes.path().display(), self.limit);
        loop {
            let listed: Value =
                serde_json::from_str(&self.run(&format!("assisted {kind} list -o json"))).unwrap();
            let newest = listed.as_array().unwrap().iter().max_by_key(|one| one["created_at"].to_string());
            if let Some(newest) = newest {
                return newest["id"].as_str().unwrap().to_owned();
            }
            self.go_on(&mut wait);
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What all commands said so far.
    fn everything(&self) -> String {
        let said = (1..=self.number).map(|number| self.notes.path().join(format!("{number:03}.said")));
        said.map(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned())
            .collect()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.bash.kill();
        let _ = self.bash.wait();
    }
}

#[test]
#[should_panic(expected = "the end of `sleep 600` did not come within 1 s")]
fn a_command_that_does_not_end_is_told() {
    let mut session = Session::open(Network::Own, &[]);
    session.limit = Duration::from_secs(1);
    session.follow("sleep 600");
}

/// Where programs are looked for: those that were built for the tests, then the machine's.
fn path() -> String {
    let programs = built("assisted-host").unwrap().parent().unwrap().to_owned();
    format!("{}:{}", programs.display(), std::env::var("PATH").unwrap())
}
