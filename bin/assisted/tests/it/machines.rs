//! `assisted machine`: a rack by its management controllers, which are emulators that others wrote (sushy-tools).

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use assisted_testkit::ManagementController;
use serde_json::Value;

use crate::images;
use crate::service::{Service, text};

/// Runs the command line with a configuration folder of its own, and something to read.
fn run(home: &Path, url: &str, args: &[&str], typed: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assisted"));
    command.args(["--url", url]).args(args).env("XDG_CONFIG_HOME", home).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_machine_boots_the_image_of_an_infra_env() {
    let dir = tempfile::tempdir().unwrap();
    let list = images::list(&images::base(dir.path()));
    let service = Service::start_with_env(&[
        ("OS_IMAGES", &list),
        ("AGENT_DELIVERY", "image"),
        ("SERVICE_BASE_URL", "http://127.0.0.1:8090"),
    ]);
    let create = ["infra-env", "create", "rack", "--pull-secret-file", "pull-secret.json"];
    let infra_env = service.json(&create);
    // The base image is read when it is first asked for.
    images::get(infra_env["download_url"].as_str().unwrap());
    let home = tempfile::tempdir().unwrap();
    let run = |args: &[&str], typed: &str| run(home.path(), &service.url, args, typed);
    let controller_dir = tempfile::tempdir().unwrap();
    let controller = ManagementController::start(
        "7e5f7c5e-0000-4000-8000-000000000001",
        "52:54:00:7e:10:02",
        None,
        controller_dir.path(),
    )
    .unwrap();
    let add =
        ["machine", "add", "first", "--system", &controller.system, "--user", ManagementController::USER];

    let wrong = run(&add, "guess\n");
    assert_eq!(wrong.status.code(), Some(1), "{wrong:?}");
    assert!(text(&wrong.stderr).contains("401") && !text(&wrong.stderr).contains("guess"), "{wrong:?}");
    assert!(!home.path().join("assisted/machines.json").exists());
    let added = run(&add, &format!("{}\n", ManagementController::PASSWORD));
    assert_eq!(text(&added.stdout), "first is known; it is Off\n", "{added:?}");
    let mode = std::fs::metadata(home.path().join("assisted/machines.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let booted = run(&["machine", "boot", "first", "--infra-env", "rack"], "");
    assert!(booted.status.success(), "{booted:?}\n{}", controller.log());
    let listed = text(&run(&["machine", "list", "-o", "json"], "").stdout);
    let rows: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!((&rows[0]["name"], &rows[0]["power"]), (&"first".into(), &"On".into()), "{listed}");
    assert!(!listed.contains(ManagementController::PASSWORD), "{listed}");
    let off = run(&["machine", "power", "off", "--all"], "");
    assert_eq!(text(&off.stdout), "first: off\n", "{off:?}");
    assert!(run(&["machine", "eject", "first"], "").status.success());

    let unknown = run(&["machine", "power", "on", "second"], "");
    assert!(text(&unknown.stderr).contains("assisted machine list"), "{unknown:?}");
    drop(controller);
    let gone = text(&run(&["machine", "list"], "").stdout);
    assert!(gone.contains("can't be reached"), "{gone}");
    assert!(run(&["machine", "remove", "first"], "").status.success());
    let none = run(&["machine", "power", "on", "--all"], "");
    assert!(text(&none.stderr).contains("no machine is known"), "{none:?}");
}
