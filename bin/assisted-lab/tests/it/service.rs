//! A service process on a free port with an empty database; it ends with the test.

use std::process::{Command, Output};

use assisted_testkit::{Server, built};

pub struct Service {
    server: Server,
    pub url: String,
    dir: tempfile::TempDir,
}

impl Service {
    /// Starts the product's program with more arguments.
    pub fn start(args: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let program = built("assisted").unwrap();
        let server = Server::start(&program, dir.path(), |command| {
            command.args(args);
        })
        .unwrap();
        Self { url: server.url(), server, dir }
    }

    /// Runs the lab's command line against the service.
    pub fn cli(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assisted-lab"));
        command.args(["--url", &self.url]).args(args).current_dir(self.dir.path()).output().unwrap()
    }

    /// The answer of a command that has to succeed, as a program reads it.
    pub fn json(&self, args: &[&str]) -> serde_json::Value {
        let output = self.cli(&[args, &["-o", "json"]].concat());
        assert!(output.status.success(), "{args:?}: {}\n{}", text(&output.stderr), self.log());
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub fn log(&self) -> String {
        self.server.log()
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
