//! Every step against what can go wrong: nothing to tell, tools that fail, hang or babble, servers that do the same,
//! and arguments meant to do harm.

use std::path::Path;
use std::time::Duration;

use assisted_agent::{Config, HostSteps, Installer, Instruction, LogDirs, Outcome, Steps};
use assisted_base::process::Tools;
use assisted_hostinfo::Root;
use assisted_wire::id::InfraEnvId;
use axum::Router;
use axum::routing::{get, post, put};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::script::script;
use crate::service::INFRA_ENV;

const ID: &str = "856f4f9c-3c08-4d97-8ec7-ea0ad7d4cadf";

/// How the host's programs behave.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mood {
    Well,
    Empty,
    Failing,
    Hanging,
    Garbage,
}

/// Programs that all do the same, but for those that are well: they answer as the real ones do.
fn tools(dir: &Path, mood: Mood) -> Tools {
    let well = r#"case "$0 $*" in
  */podman\ images*) ;;
  */podman\ image\ inspect*) echo 400000000 ;;
  */chronyc*\ sources) echo '^* 127.0.0.1 3 6 377 5 +10us[+15us] +/- 20ms' ;;
  */fio*) echo '{"jobs":[{"sync":{"lat_ns":{"percentile":{"99.000000":4817000}}}}]}' ;;
  */systemctl\ is-active*) exit 3 ;;
  */coredumpctl\ list*) echo 'Mon 2026-01-05 10:00:00 UTC 4711 0 0 SIGSEGV present /usr/bin/crasher 1M' ;;
  */installer-gather.sh*) echo bundle > BUNDLES/log-bundle-$2.tar.gz ;;
  *) echo fine ;;
esac"#
        .replace("BUNDLES", &dir.join("bundles").display().to_string());
    let text = match mood {
        Mood::Well => well.as_str(),
        Mood::Empty => "exit 0",
        Mood::Failing => "echo broken >&2; exit 7",
        Mood::Hanging => "exec sleep 1000",
        Mood::Garbage => "head -c 100000 /dev/urandom",
    };
    let program = dir.join("program");
    script(&program, &format!("echo \"$(basename $0) $*\" >> {}/asked\n{text}", dir.display()));
    for name in [
        "podman",
        "chronyc",
        "fio",
        "systemctl",
        "systemd-run",
        "chroot",
        "journalctl",
        "lsblk",
        "findmnt",
        "ls",
        "pvdisplay",
        "vgdisplay",
        "lvdisplay",
        "dmesg",
        "coredumpctl",
        "installer-gather.sh",
        "ovs-installer-gather.sh",
        "rpm-ostree",
    ] {
        std::os::unix::fs::symlink(&program, dir.join(name)).unwrap();
    }
    Tools::at(dir)
}

struct Host {
    steps: HostSteps,
    dir: TempDir,
    url: String,
}

impl Host {
    /// A host whose programs are in that mood, and a web server beside it.
    async fn new(mood: Mood) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["bundles", "logs", "artifacts"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let advertisement = json!({"payload": "p", "signatures": [{"protected": "a", "signature": "b"}]});
        let ignition =
            json!({"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/etc/motd"}]}});
        let accept = |headers: axum::http::HeaderMap| {
            headers.get("accept").is_some_and(|accept| accept.to_str().unwrap().contains("version=3.2.0"))
        };
        let router = Router::new()
            .route("/adv/good", get(async move || advertisement.to_string()))
            .route(
                "/config/worker",
                get(
                    async move |headers: axum::http::HeaderMap| {
                        if accept(headers) { ignition.to_string() } else { String::new() }
                    },
                ),
            )
            .route("/adv/empty", get(async || ""))
            .route("/adv/garbage", get(async || "<html>"))
            .route("/adv/failing", get(async || axum::http::StatusCode::INTERNAL_SERVER_ERROR))
            .route("/adv/hanging", get(async || std::future::pending::<()>().await))
            .route("/endless", get(async || "x".repeat(20 << 20)))
            .route("/kernel", get(async || "kernel"))
            .route(
                "/api/assisted-install/v2/clusters/{id}/logs",
                // Taken to its end: an answer before that breaks the upload off.
                post(async |logs: axum::body::Body| {
                    axum::body::to_bytes(logs, 64 << 20).await.unwrap();
                    axum::http::StatusCode::NO_CONTENT
                }),
            )
            .route(
                "/api/assisted-install/v2/infra-envs/{env}/hosts/{id}/logs-progress",
                put(async || axum::http::StatusCode::NO_CONTENT),
            );
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let mut config = Config::new(&url, INFRA_ENV.parse::<InfraEnvId>().unwrap());
        config.proxy_from_env = false;
        config.agent_version = "agent:1".into();
        let at = |name: &str| dir.path().join(name);
        let dirs = LogDirs { logs: at("logs"), artifacts: at("artifacts"), bundles: at("bundles") };
        let steps = HostSteps::new(Root::live(), None)
            .tools(tools(dir.path(), mood))
            .service(&config)
            .log_dirs(dirs)
            .runtime_dir(dir.path())
            .artifact_pause(Duration::from_millis(1));
        Self { steps, dir, url }
    }

    async fn step(&self, step_type: &str, args: &[String]) -> Outcome {
        let instruction =
            Instruction { step_type: step_type.into(), args: args.to_vec(), ..Instruction::default() };
        self.steps.run(&instruction).await
    }

    fn recorded_calls(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("asked")).unwrap_or_default()
    }
}

fn one(arg: &Value) -> Vec<String> {
    vec![arg.to_string()]
}

fn install() -> Value {
    json!({"cluster_id": ID, "host_id": ID, "infra_env_id": INFRA_ENV, "role": "master", "boot_device": "/dev/null",
           "controller_image": "c:1", "installer_image": "i:1"})
}

fn logs() -> Value {
    json!({"cluster_id": ID, "host_id": ID, "infra_env_id": INFRA_ENV, "bootstrap": true, "installer_gather": true,
           "master_ips": ["10.0.0.1"]})
}

/// What each step that runs a program answers, by the program's mood: its exit code, and a part of its output or, where
/// that is empty, of its error.
#[tokio::test]
async fn programs_in_every_mood() {
    use Mood::{Empty, Failing, Garbage, Hanging, Well};
    let images = json!({"images": ["a:1"], "timeout": 900});
    let ntp = json!({"ntp_source": ""});
    let upgrade = json!({"agent_image": "agent:2"});
    let reboot = json!({"host_fs_mount_dir": "/"});
    type Case<'a> = (&'a str, Vec<String>, [(Mood, i64, &'a str); 5]);
    let cases: [Case<'_>; 8] = [
        (
            "ntp-synchronizer",
            one(&ntp),
            [
                (Well, 0, r#""source_state":"synced""#),
                (Empty, 0, r#"{"ntp_sources":[]}"#),
                (Failing, -1, "chronyc exited with 7: broken"),
                (Hanging, -1, "chronyc was timed out after 30 seconds"),
                (Garbage, 0, "ntp_sources"),
            ],
        ),
        (
            "container-image-availability",
            one(&images),
            [
                (Well, 0, r#""size_bytes":400000000.0"#),
                (Empty, 2, r#""result":"failure""#),
                (Failing, 2, r#"{"images":[{"name":"a:1","result":"failure"}]}"#),
                (Hanging, 2, r#""result":"failure""#),
                (Garbage, 0, r#""result":"success""#),
            ],
        ),
        (
            "upgrade-agent",
            one(&upgrade),
            [
                (Well, 0, r#"{"agent_image":"agent:2","result":"success"}"#),
                (Empty, 0, r#""result":"success""#),
                (Failing, 0, r#""result":"failure""#),
                (Hanging, 0, r#""result":"failure""#),
                (Garbage, 0, r#""result":"success""#),
            ],
        ),
        (
            "stop-installation",
            Vec::new(),
            [
                (Well, 0, "fine"),
                (Empty, 0, ""),
                (Failing, 7, "broken"),
                (Hanging, -1, "timed out"),
                (Garbage, 0, ""),
            ],
        ),
        (
            "install",
            one(&install()),
            [
                (Well, 0, "fine"),
                (Empty, 0, ""),
                (Failing, 2, "can't be pulled"),
                (Hanging, 2, "can't be pulled"),
                (Garbage, 0, ""),
            ],
        ),
        (
            "reboot-for-reclaim",
            one(&reboot),
            [
                (Well, 0, "fine"),
                (Empty, 0, ""),
                (Failing, 7, "broken"),
                (Hanging, -1, "timed out"),
                (Garbage, 0, ""),
            ],
        ),
        (
            "logs-gather",
            one(&logs()),
            [
                (Well, 0, "Logs were sent"),
                (Empty, 0, "Logs were sent"),
                (Failing, 0, "exit code 7: broken"),
                (Hanging, 0, "timed out"),
                (Garbage, 0, "Logs were sent"),
            ],
        ),
        (
            "inventory",
            vec![ID.to_owned()],
            [
                (Well, 0, "cpu"),
                (Empty, 0, "cpu"),
                (Failing, 0, "cpu"),
                (Hanging, 0, "cpu"),
                (Garbage, 0, "cpu"),
            ],
        ),
    ];
    for (kind, args, moods) in cases {
        for (mood, code, told) in moods {
            let host = Host::new(mood).await;
            // The clock runs ahead of programs that hang: whatever limit they meet is met at once.
            if mood == Hanging {
                tokio::time::pause();
            }
            let outcome = host.step(kind, &args).await;
            if mood == Hanging {
                tokio::time::resume();
            }
            let text = if outcome.output.is_empty() { &outcome.error } else { &outcome.output };
            assert_eq!(outcome.exit_code, code, "{kind} {mood:?}: {outcome:?}");
            assert!(text.contains(told), "{kind} {mood:?}: {told:?} isn't in {text:.300}");
        }
    }
}

#[tokio::test]
async fn servers_in_every_mood() {
    let host = Host::new(Mood::Well).await;
    let tang = |thumbprint: &str| {
        let servers = json!([{"url": host.url, "thumbprint": thumbprint}]).to_string();
        one(&json!({ "tang_servers": servers }))
    };
    for (thumbprint, code, told) in [
        ("good", 0, r#""payload":"p","signatures":[{"protected":"a","signature":"b"}]"#),
        ("empty", -1, "the answer is empty"),
        ("failing", -1, "status 500"),
        ("garbage", -1, "no advertisement"),
        ("none", -1, "status 404"),
        ("", -1, "no thumbprint"),
        ("../../x", -1, "no thumbprint holds"),
    ] {
        let outcome = host.step("tang-connectivity-check", &tang(thumbprint)).await;
        let text = if code == 0 { &outcome.output } else { &outcome.error };
        assert_eq!(outcome.exit_code, code, "{thumbprint}: {outcome:?}");
        assert!(text.contains(told), "{thumbprint}: {outcome:?}");
        assert_eq!(code != 0, outcome.output == r#"{"tang_server_response":null}"#);
    }
    let check = async |path: &str, more: Value| {
        let mut request = json!({ "url": format!("{}{path}", host.url) });
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let outcome = host.step("api-vip-connectivity-check", &one(&request)).await;
        let answer: Value = serde_json::from_str(&outcome.output).unwrap();
        (outcome.exit_code, outcome.error, answer)
    };
    let (code, error, answer) = check("/config/worker", json!({})).await;
    assert_eq!((code, error.as_str(), &answer["is_success"]), (0, "", &json!(true)));
    assert_eq!(answer["ignition"], r#"{"ignition":{"version":"3.2.0"},"storage":{"files":[]}}"#);
    for (path, more, told) in [
        ("/adv/failing", json!({}), "ignition file download failed: bad status code: 500. server response: "),
        (
            "/adv/empty",
            json!({}),
            "ignition file download failed: server responsed with status code 200 but the response was empty",
        ),
        (
            "/adv/garbage",
            json!({}),
            "ignition file download failed: response is not valid json:\n<html>\nparse error is: ",
        ),
        ("/adv/good", json!({}), "response is not a valid ignition file:\n"),
        ("/endless", json!({}), "ignition file download failed: request failed: the answer is longer than"),
        (
            "/x",
            json!({"ca_certificate": "%"}),
            "ignition file download failed: ignition endpoint CA certificate is not valid base64",
        ),
        ("/x", json!({"ca_certificate": "eA=="}), "ignition file download failed: unable to parse cert"),
        ("/x", json!({"request_headers": [{"key": "a\nb", "value": "c"}]}), "can't stand in a header"),
    ] {
        let (code, error, answer) = check(path, more).await;
        assert_eq!((code, error.as_str()), (0, "ignition download error"));
        assert!(answer["download_error"].as_str().unwrap().contains(told), "{path}: {answer}");
    }
    let outcome = host.step("api-vip-connectivity-check", &["{".to_owned()]).await;
    assert_eq!((outcome.exit_code, outcome.error.as_str()), (-1, "ignition download error"));
    assert!(outcome.output.contains("<unknown URL due to internal error>"));
}

#[tokio::test(start_paused = true)]
async fn servers_that_never_answer_are_given_up() {
    let host = Host::new(Mood::Well).await;
    let servers = json!([{"url": host.url, "thumbprint": "hanging"}]).to_string();
    let outcome = host.step("tang-connectivity-check", &one(&json!({ "tang_servers": servers }))).await;
    assert_eq!(outcome.exit_code, -1);
    assert!(outcome.error.contains("timed out"), "{}", outcome.error);
}

#[tokio::test]
async fn hostile_arguments_run_nothing() {
    let host = Host::new(Mood::Well).await;
    let deep = "[".repeat(100_000);
    let with = |name: &str, value: Value| {
        let mut request = install();
        request[name] = value;
        request
    };
    let many: Vec<_> = (0..3_000).map(|_| json!({"nics": []})).collect();
    for (kind, arg) in [
        ("container-image-availability", json!({"images": ["--authfile=/etc/shadow"]})),
        ("container-image-availability", json!({"images": ["a:1; reboot"]})),
        ("container-image-availability", json!({"images": vec!["a:1"; 1_000]})),
        ("upgrade-agent", json!({"agent_image": "-x:1"})),
        ("upgrade-agent", json!({"agent_image": ""})),
        ("install", with("installer_image", json!("--privileged=x"))),
        ("install", with("boot_device", json!("/etc/passwd"))),
        ("install", with("boot_device", json!("--help"))),
        ("install", with("installer_args", json!("[\"--insecure-ignition\"]"))),
        ("install", with("role", json!("auto-assign"))),
        (
            "logs-gather",
            json!({"cluster_id": ID, "host_id": ID, "infra_env_id": ID, "bootstrap": true,
                               "installer_gather": true, "master_ips": ["-oProxyCommand=x"]}),
        ),
        ("installation-disk-speed-check", json!({"path": "/dev/null"})),
        ("reboot-for-reclaim", json!({"host_fs_mount_dir": "x"})),
        ("reboot-for-reclaim", json!({"host_fs_mount_dir": "/dev/../etc"})),
        (
            "download-boot-artifacts",
            json!({"kernel_url": "file:///etc/shadow", "initrd_url": "http://h/",
                                           "rootfs_url": "http://h/", "host_fs_mount_dir": "/tmp"}),
        ),
        (
            "download-boot-artifacts",
            json!({"kernel_url": "http://h/", "initrd_url": "http://h/",
                                           "rootfs_url": "http://h/' init=/bin/sh '", "host_fs_mount_dir": "/tmp"}),
        ),
        ("connectivity-check", Value::Array(many)),
        ("connectivity-check", json!([{"nics": [{"mac": "$(id)", "ip_addresses": []}]}])),
        ("connectivity-check", json!([{"nics": [{"mac": "02:00:00:00:00:01", "ip_addresses": ["-I"]}]}])),
        ("verify-vips", json!([{"vip": "-iL/etc/shadow", "vip_type": "api"}])),
        ("free-network-addresses", json!(["0.0.0.0/0; id"])),
        (
            "tang-connectivity-check",
            json!({"tang_servers": "[{\"url\":\"file:///etc\",\"thumbprint\":\"a\"}]"}),
        ),
        ("dhcp-lease-allocate", json!({"interface": "lo", "api_vip_mac": "x", "ingress_vip_mac": "y"})),
    ] {
        let outcome = host.step(kind, &one(&arg)).await;
        assert_eq!(outcome.exit_code, -1, "{kind} {arg:.200}: {outcome:?}");
        assert!(!outcome.error.is_empty() && outcome.error.len() < 3_000, "{kind} {arg:.200}: {outcome:?}");
    }
    for kind in [
        "inventory",
        "connectivity-check",
        "free-network-addresses",
        "dhcp-lease-allocate",
        "api-vip-connectivity-check",
        "tang-connectivity-check",
        "ntp-synchronizer",
        "container-image-availability",
        "domain-resolution",
        "verify-vips",
        "upgrade-agent",
        "logs-gather",
        "install",
        "download-boot-artifacts",
        "reboot-for-reclaim",
        "installation-disk-speed-check",
    ] {
        for args in [vec![], vec![String::new()], vec![deep.clone()], vec!["{}".to_owned(), "{}".to_owned()]]
        {
            let outcome = host.step(kind, &args).await;
            assert!(outcome.exit_code != 0 && !outcome.error.is_empty(), "{kind}: {outcome:?}");
        }
    }
    assert_eq!(host.step("stop-installation", &[String::new()]).await.exit_code, -1);
    assert_eq!(host.recorded_calls(), "", "no program was run");
}

#[tokio::test]
async fn an_installer_is_given_everything_and_runs_once() {
    let host = Host::new(Mood::Well).await;
    let outcome = host.step("install", &one(&install())).await;
    assert_eq!(outcome.exit_code, 0, "{outcome:?}");
    let asked = host.recorded_calls();
    let run = asked.lines().find(|line| line.starts_with("podman run")).unwrap();
    assert!(
        run.starts_with(
            "podman run --privileged --pid=host --net=host --name=assisted-installer --volume=/dev:/dev:rw"
        ),
        "{run}"
    );
    let flags = format!(
        "--env=PULL_SECRET_TOKEN i:1 --role master --infra-env-id {INFRA_ENV} --cluster-id {ID} --host-id {ID} \
         --boot-device /dev/null --url {} --controller-image c:1 --agent-image agent:1",
        host.url
    );
    assert!(run.contains(&flags), "{run}");

    // As a unit of systemd, and not twice.
    let host = Host::new(Mood::Well).await;
    let Host { steps, dir, url } = host;
    let host = Host { steps: steps.installer(Installer::Program("/opt/installer".into())), dir, url };
    assert_eq!(host.step("install", &one(&install())).await.exit_code, 0);
    // The token stands in a file, gone by now: a unit's own settings are told to everyone.
    let environment = host.dir.path().join("assisted-installer.env");
    let start = format!(
        "systemd-run --unit=assisted-installer.service --wait --collect --quiet --property=Restart=on-abnormal \
         --property=RestartSec=5 --property=EnvironmentFile={} -- /opt/installer --role master",
        environment.display()
    );
    let asked = host.recorded_calls();
    assert!(asked.contains(&start), "{asked}");
    assert!(!environment.exists());
    let active = Host::new(Mood::Empty).await;
    let Host { steps, dir, url } = active;
    let active = Host { steps: steps.installer(Installer::Program("/opt/installer".into())), dir, url };
    let outcome = active.step("install", &one(&install())).await;
    assert_eq!(outcome.exit_code, 125);
    assert_eq!(outcome.error, "the container name \"assisted-installer\" is already in use");

    // While one runs, another isn't begun.
    let slow = std::sync::Arc::new(Host::new(Mood::Hanging).await);
    let first = tokio::spawn({
        let slow = std::sync::Arc::clone(&slow);
        async move { slow.step("install", &one(&install())).await }
    });
    tokio::time::timeout(Duration::from_secs(60), async {
        while slow.recorded_calls().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
    assert_eq!(slow.step("install", &one(&install())).await.exit_code, 125);
    first.abort();
}

#[tokio::test]
async fn boot_artifacts_are_laid_whole() {
    let host = Host::new(Mood::Well).await;
    let node = host.dir.path().join("node");
    std::fs::create_dir_all(node.join("boot")).unwrap();
    let request = |kernel: &str| {
        one(
            &json!({"kernel_url": format!("{}{kernel}", host.url), "initrd_url": format!("{}/kernel", host.url),
                    "rootfs_url": "http://h/rootfs?x=1", "host_fs_mount_dir": node}),
        )
    };
    let outcome = host.step("download-boot-artifacts", &request("/none")).await;
    assert_eq!(outcome.exit_code, -1);
    assert!(outcome.error.contains("status 404"), "{}", outcome.error);
    assert!(!node.join("boot/discovery/vmlinuz").exists());
    for _ in 0..2 {
        let outcome = host.step("download-boot-artifacts", &request("/kernel")).await;
        assert_eq!(outcome.output, "Successfully downloaded boot artifacts", "{outcome:?}");
    }
    assert_eq!(std::fs::read_to_string(node.join("boot/discovery/vmlinuz")).unwrap(), "kernel");
    let entry = std::fs::read_to_string(node.join("boot/loader/entries/00-assisted-discovery.conf")).unwrap();
    assert!(entry.contains("linux /boot/discovery/vmlinuz\ninitrd /boot/discovery/initrd\n"), "{entry}");
    assert!(entry.contains("coreos.live.rootfs_url=http://h/rootfs?x=1"), "{entry}");
    let left: Vec<_> = std::fs::read_dir(node.join("boot/discovery")).unwrap().collect();
    assert_eq!(left.len(), 2, "no half files");
}
