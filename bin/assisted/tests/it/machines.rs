//! `assisted machine`: a rack by its management controllers, which are emulators that others wrote (sushy-tools).

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use assisted_testkit::{LiveImage, ManagementController};
use serde_json::Value;

use crate::images;
use crate::service::{Service, on_terminal, text};

/// Runs the command line with a configuration folder of its own, and something to read.
fn run(home: &Path, url: &str, args: &[&str], typed: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assisted"));
    command.args(["--url", url]).args(args).env("XDG_CONFIG_HOME", home).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// A service with images, their base in a folder, and an infra-env for machines.
fn rack(dir: &Path) -> (Service, Value) {
    let list = LiveImage::make(dir).unwrap().list();
    let service = Service::start_with_env(&[
        ("OS_IMAGES", &list),
        ("AGENT_DELIVERY", "image"),
        ("SERVICE_BASE_URL", "http://127.0.0.1:8090"),
    ]);
    let infra_env = service.json(&["infra-env", "create", "rack", "--pull-secret-file", "pull-secret.json"]);
    (service, infra_env)
}

#[test]
fn a_machine_boots_the_image_of_an_infra_env() {
    let dir = tempfile::tempdir().unwrap();
    let (service, infra_env) = rack(dir.path());
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
    // On a terminal it shows that something goes on, and elsewhere it does not.
    let mut terminal = on_terminal(&["--url", &service.url, "machine", "power", "reset", "first"]);
    let shown = text(&terminal.env("XDG_CONFIG_HOME", home.path()).output().unwrap().stdout);
    assert!(shown.contains("1 machines are at it") && shown.contains("first: "), "{shown:?}");
    let off = run(&["machine", "power", "off", "--all"], "");
    assert_eq!((text(&off.stdout).as_str(), text(&off.stderr).as_str()), ("first: off\n", ""), "{off:?}");
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

/// The same by the service itself, which keeps what it is told.
#[test]
fn the_service_boots_a_machine_for_an_administrator() {
    let dir = tempfile::tempdir().unwrap();
    let (service, infra_env) = rack(dir.path());
    let infra_env = infra_env["id"].as_str().unwrap().to_owned();
    let controller_dir = tempfile::tempdir().unwrap();
    let uuid = "7e5f7c5e-0000-4000-8000-000000000002";
    let controller =
        ManagementController::start(uuid, "52:54:00:7e:10:03", None, controller_dir.path()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = assisted_client::Client::builder(&service.url).build().unwrap();
    let system = controller.system.clone();
    let params = |name: &str, password: &str| assisted_wire::rack::MachineCreateParams {
        name: name.to_owned(),
        system: system.clone(),
        user: ManagementController::USER.to_owned(),
        password: password.into(),
        insecure: None,
    };
    runtime.block_on(async {
        let wrong = client.add_machine(&params("first", "guess")).await.unwrap_err();
        assert_eq!((wrong.status(), wrong.section()), (Some(422), Some("management-controller")), "{wrong}");
        assert!(!wrong.to_string().contains("guess"), "{wrong}");
        let added = client.add_machine(&params("first", ManagementController::PASSWORD)).await.unwrap();
        assert_eq!((added.power.as_deref(), &added.action), (Some("Off"), &None));
        let twice = client.add_machine(&params("first", ManagementController::PASSWORD)).await.unwrap_err();
        assert_eq!(twice.status(), Some(409), "{twice}");

        let booted = client.boot_machine(added.id, infra_env.parse().unwrap()).await.unwrap();
        assert_eq!(booted.action.as_ref().map(|action| action.state.as_str()), Some("running"));
        let busy = client.switch_machine(added.id, assisted_wire::rack::MachinePower::Off).await.unwrap_err();
        assert_eq!(busy.status(), Some(409), "{busy}");
        let ended = ended(&client, added.id).await;
        assert_eq!((ended.state.as_str(), &ended.message), ("done", &None), "{}", controller.log());
        assert_eq!(client.machine(added.id).await.unwrap().power.as_deref(), Some("On"));
        client.switch_machine(added.id, assisted_wire::rack::MachinePower::Off).await.unwrap();
        assert_eq!(self::ended(&client, added.id).await.state, "done");

        let listed = client.list_machines().await.unwrap().0;
        assert_eq!(listed.len(), 1);
        assert!(!serde_json::to_string(&listed).unwrap().contains(ManagementController::PASSWORD));
        drop(controller);
        assert!(client.machine(added.id).await.unwrap().problem.unwrap().contains("can't be reached"));
        client.switch_machine(added.id, assisted_wire::rack::MachinePower::On).await.unwrap();
        let failed = self::ended(&client, added.id).await;
        assert_eq!(failed.state, "failed", "{failed:?}");
        client.remove_machine(added.id).await.unwrap();
        assert_eq!(client.machine(added.id).await.unwrap_err().status(), Some(404));
    });
    // What the service keeps is sealed.
    let readable = format!("\"password\":\"{}\"", ManagementController::PASSWORD);
    let kept = Command::new("grep").args(["-rF", &readable]).arg(service.dir.path()).output();
    assert_eq!(kept.unwrap().status.code(), Some(1), "the password can be read");
}

/// The end of what was asked of a machine.
async fn ended(client: &assisted_client::Client, id: uuid::Uuid) -> assisted_wire::rack::MachineAction {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(120);
    loop {
        let action = client.machine(id).await.unwrap().action.unwrap();
        if action.state != "running" {
            return action;
        }
        assert!(std::time::Instant::now() < deadline, "still waits for: {action:?}");
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
}
