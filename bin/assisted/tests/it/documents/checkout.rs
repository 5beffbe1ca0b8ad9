//! What documents tell people to type in a checkout, and what takes long there.

use std::cell::Cell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::block::{Block, Needs, root};
use super::runnable;
use super::session::Session;
use crate::service::text;

/// A terminal in the checkout, whose services have free ports and their data in a folder.
fn serving(data: &Path) -> Session {
    Session::in_checkout(&[
        ("ASSISTED_LISTEN", "127.0.0.1:0"),
        ("ASSISTED_IMAGE_LISTEN", "127.0.0.1:0"),
        ("ASSISTED_DATA_DIR", &data.display().to_string()),
    ])
}

#[test]
fn everything_the_release_is_built_as_the_readme_says() {
    let mut session = Session::in_checkout(&[]);
    let blocks = runnable("README.md", Needs::Nothing);
    let built: Vec<_> = blocks
        .iter()
        .flat_map(Block::commands)
        .filter(|command| command.starts_with("cargo build "))
        .collect();
    assert_eq!(built.len(), 1, "{built:?}");
    session.follow(built[0]);
    session.follow("target/release/assisted --version");
    session.follow("target/release/assisted-host agent --help");
    session.follow("target/release/assisted-lab up --help");
}

#[test]
fn everything_the_web_ui_is_built_as_its_page_says() {
    let data = tempfile::tempdir().unwrap();
    let mut session = serving(data.path());
    for command in runnable("docs/ui.md", Needs::Everything).iter().flat_map(Block::commands) {
        session.follow(command);
    }
    session.watch("target/release/assisted serve", |said| said.contains("listening on http"));
}

#[test]
fn everything_the_two_commands_of_the_readme() {
    let mut session = Session::in_checkout(&[]);
    for command in runnable("README.md", Needs::Everything).iter().flat_map(Block::commands) {
        if command.starts_with("cargo xtask test") {
            // It is what runs this.
            session.follow("cargo xtask test --help");
        } else {
            session.watch(command, |said| said.contains("Ctrl-C, or `assisted-lab down`, ends it."));
        }
    }
}

/// What a stranger waits for; how long is told, and judged by nobody: it depends on the network and on all else that is built.
#[test]
fn everything_the_first_command_of_the_readme_in_a_fresh_clone() {
    let dir = tempfile::tempdir().unwrap();
    let [clone, home, cargo, cache] = ["clone", "home", "cargo", "cache"].map(|name| dir.path().join(name));
    for empty in [&home, &cargo, &cache] {
        std::fs::create_dir(empty).unwrap();
    }
    let cloned = Command::new("git").args(["clone", "--quiet"]).args([&root(), &clone]).output().unwrap();
    assert!(cloned.status.success(), "{}", text(&cloned.stderr));
    // How this machine reaches its registries is no cache, and neither is the toolchain.
    let own = PathBuf::from(std::env::var_os("HOME").unwrap());
    let folder =
        |name: &str, default: &str| std::env::var_os(name).map_or_else(|| own.join(default), PathBuf::from);
    for (from, to) in [
        (folder("CARGO_HOME", ".cargo").join("config.toml"), cargo.join("config.toml")),
        (own.join(".npmrc"), home.join(".npmrc")),
        (own.join(".config/go/env"), home.join(".config/go/env")),
        (own.join(".config/pip/pip.conf"), home.join(".config/pip/pip.conf")),
    ] {
        if from.is_file() {
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(from, to).unwrap();
        }
    }
    let rustup = folder("RUSTUP_HOME", ".rustup");
    let [home, rustup, cargo, cache] = [home, rustup, cargo, cache].map(|path| path.display().to_string());
    let mut session = Session::in_clone(
        clone,
        &[("HOME", &home), ("RUSTUP_HOME", &rustup), ("CARGO_HOME", &cargo), ("XDG_CACHE_HOME", &cache)],
    );
    let blocks = runnable("README.md", Needs::Everything);
    let demo =
        blocks.iter().flat_map(Block::commands).find(|command| command.starts_with("cargo xtask demo"));

    let (begun, shown, boots) = (Instant::now(), Cell::new(None::<Duration>), Cell::new(Duration::ZERO));
    session.watch(demo.unwrap(), |said| {
        if shown.get().is_none() && said.contains("An installation on simulated hosts") {
            shown.set(Some(begun.elapsed()));
        }
        boots.set(begun.elapsed());
        said.contains("master-0: console in ")
    });
    let minutes = |since: Duration| since.as_secs_f64() / 60.0;
    let shown = shown.get().expect("machines are made while an installation on simulated hosts is shown");
    let told = format!(
        "from a fresh clone with empty caches: {:.1} minutes until an installation is shown, {:.1} until a machine boots\n",
        minutes(shown),
        minutes(boots.get())
    );
    // A test's standard output is shown when it fails alone.
    std::io::stderr().write_all(told.as_bytes()).unwrap();
}

#[test]
fn everything_hosts_of_all_architectures_get_their_program() {
    let data = tempfile::tempdir().unwrap();
    let mut session = serving(data.path());
    for command in runnable("docs/agent.md", Needs::Everything).iter().flat_map(Block::commands) {
        match command.ends_with("assisted serve") {
            true => session.watch(command, |said| said.contains("listening on http")),
            false => session.follow(command),
        }
    }
}
