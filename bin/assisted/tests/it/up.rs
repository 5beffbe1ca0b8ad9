//! `assisted up`: one line, and the address to open.

use std::process::{Command, Stdio};

use crate::images;
use crate::service::{follow, text};

#[test]
fn the_address_that_is_printed_makes_the_first_administrator() {
    let dir = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_assisted");
    let start = || {
        let mut command = Command::new(program);
        command.args(["up", "--address", "127.0.0.1", "--port", "0", "--data-dir"]).arg(dir.path());
        follow(&mut command)
    };
    let (service, mut lines) = start();
    let open = lines.by_ref().find_map(|line| line.strip_prefix("open ").map(str::to_owned)).unwrap();
    let (url, code) = open.split_once("/#setup=").unwrap();
    assert!(url.starts_with("http://127.0.0.1:") && code.starts_with("asst_"), "{open}");
    let (head, page) = images::get(&format!("{url}/"));
    assert!(head.starts_with("HTTP/1.1 200") && text(&page).contains("<html"), "{head}\n{}", text(&page));

    let log_in = || {
        let mut command = Command::new(program);
        command.args(["--url", url, "login", "--setup", code, "--name", "root"]);
        command.env("XDG_CONFIG_HOME", dir.path()).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"correct horse battery\n").unwrap();
        child.wait_with_output().unwrap()
    };
    let output = log_in();
    assert!(text(&output.stdout).starts_with("logged in as root, admin"), "{output:?}");
    assert_eq!(log_in().status.code(), Some(1), "once");
    // Who is not known sees nothing.
    let list = Command::new(program)
        .args(["--url", url, "cluster", "list"])
        .env("XDG_CONFIG_HOME", dir.path().join("other"))
        .output()
        .unwrap();
    assert_eq!(list.status.code(), Some(1), "{list:?}");
    drop((service, lines));
    let (_service, mut lines) = start();
    let open = lines.find_map(|line| line.strip_prefix("open ").map(str::to_owned)).unwrap();
    assert!(!open.contains("setup"), "{open}");
}
