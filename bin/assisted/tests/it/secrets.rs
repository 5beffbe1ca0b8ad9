//! Secrets at rest: nothing of a whole installation can be read by whoever gets hold of database, files, logs or events, and the
//! keys are lost, found and changed.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use assisted_base::failpoint::{DIE_AFTER, DIED};
use assisted_blob::{Blob, Key};
use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_seal::{KeyFile, Keyring};
use assisted_store::{Batch, Store};
use assisted_testkit::oci::OPENSHIFT_INSTALL;
use assisted_testkit::{Authority, Postgres, Server};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::releases::Releases;
use crate::service::{Service, text};

/// Words that stand in what the installation is given.
const PULL: &str = "sealtest:pull-5f2c";
const PROXY: &str = "proxy-8d1b";
const OVERRIDE: &str = "override-77ae";
const IGNITION: &str = "ignition-c0de";
/// In what simulated hosts with a management controller are given.
const FENCING: &str = "bmc-0.example.com/redfish";
const REFUSED: &str = "refused-913d";
/// The name of the cluster, which may be read: what looks for words finds them.
const NAME: &str = "readable-name";
const API: &str = "/api/assisted-install/v2";

/// A service whose simulated hosts have management controllers.
fn simulating(more: &[(&str, &str)]) -> Service {
    let settings = [("GENERATOR", "simulation"), ("TNF_CLUSTERS_SUPPORT", "true")];
    Service::start_with_env(&[&settings, more].concat())
}

/// A request to a service: status line and body.
pub fn ask(service: &Service, method: &str, path: &str, body: &Value) -> (String, String) {
    let host = service.url.strip_prefix("http://").unwrap();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "{method} {API}{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

fn done(answer: (String, String)) -> String {
    assert!(answer.0.contains(" 20"), "{answer:?}");
    answer.1
}

/// Files below a folder, but for those with keys and those that a user has put there.
fn files_of_data(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let own = |path: &PathBuf| !path.ends_with("seal-keys") && !path.ends_with("pull-secret.json");
    entries
        .filter(own)
        .flat_map(|path| if path.is_dir() { files_of_data(&path) } else { vec![path] })
        .collect()
}

/// Where some words stand in some bytes: as they are, or in base64, whatever stands before them.
fn found<'a>(bytes: &[u8], words: &'a [String]) -> Vec<&'a str> {
    let is_in = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    let encoded = |word: &str| {
        (0..3).any(|before| {
            let shifted = BASE64_STANDARD.encode(["x".repeat(before).as_bytes(), word.as_bytes()].concat());
            // Letters at both ends depend on what stands beside the word.
            let part = &shifted.as_bytes()[before + 2..shifted.len() - 4];
            part.len() >= 6 && is_in(part)
        })
    };
    words.iter().map(String::as_str).filter(|word| is_in(word.as_bytes()) || encoded(word)).collect()
}

/// Creates a cluster with all secrets that people give: its id, that of its infra-env, and the words that nobody may read afterwards.
fn create(service: &Service) -> (String, String, Vec<String>) {
    let auth = BASE64_STANDARD.encode(PULL);
    let pull_secret = json!({"auths": {"quay.io": {"auth": auth, "email": "a@example.com"}}}).to_string();
    fs::write(service.dir.path().join("pull-secret.json"), pull_secret).unwrap();
    let (cluster, infra_env) = service.cluster(NAME);
    let proxy = format!("http://user:{PROXY}@proxy.example.com:3128");
    done(ask(
        service,
        "PATCH",
        &format!("/clusters/{cluster}"),
        &json!({"http_proxy": proxy, "https_proxy": proxy, "no_proxy": ".example.com"}),
    ));
    let overrides = json!({"proxy": {"httpProxy": format!("http://user:{OVERRIDE}@proxy.example.com:3128")}});
    done(ask(
        service,
        "PATCH",
        &format!("/clusters/{cluster}/install-config"),
        &Value::String(overrides.to_string()),
    ));
    let ignition = json!({"ignition": {"version": "3.1.0"}, "passwd": {"users": [{"name": "core", "passwordHash": IGNITION}]}});
    let change = json!({"proxy": {"http_proxy": proxy}, "ignition_config_override": ignition.to_string()});
    done(ask(service, "PATCH", &format!("/infra-envs/{infra_env}"), &change));
    let words = [PULL, &auth, PROXY, OVERRIDE, IGNITION].map(str::to_owned);
    (cluster, infra_env, words.to_vec())
}

/// Installs a cluster on simulated hosts; its id, and the words that nobody may read afterwards.
fn install(service: &Service) -> (String, Vec<String>) {
    let (cluster, infra_env, mut words) = create(service);
    let mut simulation =
        service.simulation(&["--cluster", &cluster, "--infra-env", &infra_env, "--speed", "600"]);
    assert!(
        simulation.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success(),
        "{}",
        service.log()
    );
    let credentials = done(ask(service, "GET", &format!("/clusters/{cluster}/credentials"), &Value::Null));
    let credentials: Value = serde_json::from_str(&credentials).unwrap();
    words.push(credentials["password"].as_str().unwrap().to_owned());
    (cluster, words)
}

/// Has another cluster, whose hosts have passwords of management controllers.
fn fence(service: &Service) {
    let mut simulation = service.simulation(&[
        "--topology",
        "tnf",
        "--openshift-version",
        "4.20",
        "--until",
        "ready",
        "--speed",
        "600",
    ]);
    assert!(
        simulation.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success(),
        "{}",
        service.log()
    );
    let hosts = service.json(&["host", "list"]).to_string();
    assert!(hosts.contains(FENCING), "{hosts}");
}

/// What is refused is told without its secrets.
fn refusals(service: &Service, cluster: &str) -> String {
    let bad = json!({"auths": {"quay.io": {"auth": REFUSED}}}).to_string();
    let create = json!({"name": "x", "openshift_version": "4.20", "pull_secret": bad});
    let answers = [
        ask(service, "POST", "/clusters", &create),
        ask(service, "POST", "/infra-envs", &create),
        ask(service, "PATCH", &format!("/clusters/{cluster}"), &json!({"pull_secret": bad})),
        ask(service, "POST", "/clusters", &json!({"pull_secret": [REFUSED]})),
        ask(service, "GET", &format!("/clusters/none?token={REFUSED}x"), &json!(null)),
    ];
    assert!(answers[..4].iter().all(|(status, _)| status.contains(" 4")), "{answers:?}");
    answers.iter().map(|(status, body)| format!("{status}\n{body}\n")).collect()
}

fn nothing_is_readable(service: &Service, dump: impl FnOnce() -> Vec<u8>) {
    let (cluster, mut words) = install(service);
    words.extend([REFUSED, FENCING].map(str::to_owned));
    let told = refusals(service, &cluster);
    let events = done(ask(service, "GET", &format!("/events?cluster_id={cluster}&limit=-1"), &Value::Null));
    assert!(events.contains("cluster_installation_completed"));
    let mut places = vec![("refusals".into(), told.into_bytes()), ("events".into(), events.into_bytes())];
    places.push(("dump".into(), dump()));
    none_is_in(places, service, &words);
}

/// Looks for the words in some places and all files of a service.
fn none_is_in(mut places: Vec<(PathBuf, Vec<u8>)>, service: &Service, words: &[String]) {
    places.extend(
        files_of_data(service.dir.path()).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())),
    );
    let readable: Vec<_> = places
        .iter()
        .flat_map(|(place, bytes)| {
            found(bytes, words).into_iter().map(move |word| format!("{word} in {}", place.display()))
        })
        .collect();
    assert!(readable.is_empty(), "{readable:#?}");
    let name = [NAME.to_owned()];
    assert!(
        places.iter().any(|(_, bytes)| !found(bytes, &name).is_empty()),
        "what looks for words finds none"
    );
    assert!(places.len() > 4, "files were looked at: {}", places.len());
}

#[test]
fn nothing_of_an_installation_is_readable() {
    let service = simulating(&[]);
    fence(&service);
    nothing_is_readable(&service, Vec::new);
}

#[test]
fn nothing_of_an_installation_out_of_a_release_is_readable() {
    let releases = Releases::start();
    let service = Service::installing(&releases.conf);
    let (other, _) = service.cluster("other");
    let shown = service.json(&["cluster", "show", &other]);
    let version = shown["openshift_version"].as_str().unwrap();
    // One that tells all that it is given.
    let chatty = "set -eu\n[ $# -ne 4 ] || cat \"$4/install-config.yaml\" 2> /dev/null || true\n";
    let program = OPENSHIFT_INSTALL.replacen("set -eu\n", chatty, 1);
    assert_ne!(program, OPENSHIFT_INSTALL);
    releases.push(version, &program);
    nothing_is_readable(&service, Vec::new);
}

/// Fails, and quotes what it does not like of the install config, as the real one does: the pull secret as Go quotes it, what is in it,
/// and a proxy.
const QUOTING: &str = r#"#!/bin/sh
config="$4/install-config.yaml"
quoted=$(sed -n 's/.*"pullSecret":\("[^}]*}}}"\).*/\1/p' "$config")
account=$(sed -n 's/.*\\"auth\\":\\"\([^\]*\)\\".*/\1/p' "$config" | base64 -d)
proxy=$(sed -n 's/.*"httpProxy":"\([^"]*\)".*/\1/p' "$config")
printf 'level=fatal msg=pullSecret: Invalid value: %s: account %s, proxy %s\n' "$quoted" "$account" "$proxy" >&2
exit 3
"#;

#[test]
fn nothing_that_a_failing_installer_quotes_is_readable() {
    let releases = Releases::start();
    let conf = releases.conf.to_str().unwrap();
    // In its log stands all that the installer says, too.
    let settings = [("GENERATOR", "openshift"), ("REGISTRIES_CONF_FILE", conf), ("LOG_LEVEL", "debug")];
    let service = Service::start_with_env(&settings);
    let (cluster, infra_env, words) = create(&service);
    let shown = service.json(&["cluster", "show", &cluster]);
    releases.push(shown["openshift_version"].as_str().unwrap(), QUOTING);
    let existing = ["--cluster", &cluster, "--infra-env", &infra_env, "--until", "ready", "--speed", "600"];
    let mut simulation = service.simulation(&existing);
    assert!(
        simulation.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success(),
        "{}",
        service.log()
    );
    done(ask(&service, "POST", &format!("/clusters/{cluster}/actions/install"), &Value::Null));
    let get = |path: &str| done(ask(&service, "GET", path, &Value::Null));
    let begun = Instant::now();
    let (status, reason) = loop {
        let read: Value = serde_json::from_str(&get(&format!("/clusters/{cluster}"))).unwrap();
        let last = &read["last-installation-preparation"];
        if last["status"] == "failed" {
            break (read["status_info"].to_string(), last["reason"].as_str().unwrap().to_owned());
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{read:#}\n{}", service.log());
        thread::sleep(Duration::from_millis(50));
    };
    // It has quoted each of them.
    let said = "level=fatal msg=pullSecret: Invalid value: \"<hidden>\": account <hidden>, proxy ";
    assert!(reason.contains(said) && reason.ends_with(": exit status 3"), "{reason}");
    let proxy = reason.split_once(said).unwrap().1;
    assert!(proxy.contains("<hidden>"), "{reason}");
    let events = get(&format!("/events?cluster_id={cluster}&limit=-1"));
    assert!(events.contains("prepare_installation_failed") && events.contains("pullSecret"), "{events}");
    assert!(service.log().contains("openshift-install has ended"), "{}", service.log());
    let places = [
        ("status", status),
        ("reason", reason),
        ("events", events),
        ("actions", get(&format!("/clusters/{cluster}/actions"))),
        ("work", get("/work")),
    ];
    let places = places.map(|(place, text)| (PathBuf::from(place), text.into_bytes()));
    none_is_in(Vec::from(places), &service, &words);
}

#[test]
fn nothing_of_people_and_of_tls_is_readable() {
    let outside = tempfile::tempdir().unwrap();
    let authority = Authority::new("people").unwrap();
    let (certificate, key) = authority.certificate(outside.path(), &["127.0.0.1"], (2020, 2090)).unwrap();
    let trusted = outside.path().join("ca.pem");
    fs::write(&trusted, &authority.pem).unwrap();
    let [certificate, key] = [&certificate, &key].map(|path| path.to_str().unwrap());
    let service =
        simulating(&[("AUTH_TYPE", "users"), ("HTTPS_CERT_FILE", certificate), ("HTTPS_KEY_FILE", key)]);
    let code = service.setup_code();
    let run = |args: &[&str], input: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assisted"));
        command.args(["--url", &service.url, "--ca-file"]).arg(&trusted).args(args);
        command.env("XDG_CONFIG_HOME", outside.path()).current_dir(service.dir.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // What reads nothing may have ended.
        let _ = writeln!(child.stdin.take().unwrap(), "{input}");
        child.wait_with_output().unwrap()
    };
    let made = |args: &[&str], input: &str| {
        let output = run(args, input);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        text(&output.stdout).trim().to_owned()
    };
    let passwords = ["correct horse 4b1d", "another good 9e2f", "guessed horse 6c3a"];
    made(&["login", "--setup", &code, "--name", NAME], passwords[0]);
    made(&["user", "add", "ann", "--role", "editor"], passwords[1]);
    let token = made(&["token", "create", "ci", "--expires", "1h"], "");
    let session = fs::read_to_string(outside.path().join("assisted/logins.json")).unwrap();
    let session = session.split('"').find(|word| word.starts_with("asst_")).unwrap().to_owned();
    let infra_env =
        made(&["infra-env", "create", "one", "--pull-secret-file", "pull-secret.json", "-o", "json"], "");
    let infra_env: Value = serde_json::from_str(&infra_env).unwrap();
    let address = infra_env["download_url"].as_str().unwrap();
    let signature = address.split(['/', '=', '&', '?', '.']).max_by_key(|part| part.len()).unwrap();
    assert!(signature.len() > 40, "{address}");
    let guessed = run(&["login", "--name", "ann"], passwords[2]);
    assert!(!guessed.status.success());

    let private = fs::read_to_string(key).unwrap();
    let mut words: Vec<String> = passwords.map(str::to_owned).to_vec();
    words.extend([code, token, session, signature.to_owned(), private.lines().nth(2).unwrap().to_owned()]);
    assert!(words.iter().all(|word| word.len() > 16), "{words:?}");
    let told = [guessed.stdout, guessed.stderr].concat();
    none_is_in(vec![("refusals".into(), told)], &service, &words);
}

#[test]
fn nothing_of_an_installation_is_readable_in_postgresql() {
    let server = Postgres::start().unwrap();
    let database = server.create_database().unwrap();
    let service = simulating(&[("ASSISTED_DATABASE", &database)]);
    fence(&service);
    nothing_is_readable(&service, || {
        let dump = server.dump(&database).unwrap();
        assert!(!found(&dump, &[NAME.to_owned()]).is_empty(), "the dump has the cluster");
        dump
    });
}

fn admin(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assisted"));
    command.args(["admin", "keys"]).args(args).arg("--data-dir").arg(dir).output().unwrap()
}

/// What a service says that does not start.
fn refused(dir: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assisted"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(dir);
    let output = command.args(["--generator", "simulation"]).output().unwrap();
    assert!(!output.status.success());
    text(&output.stderr)
}

#[test]
fn keys_are_changed_while_the_service_runs_and_are_needed() {
    let service = simulating(&[]);
    let (cluster, words) = install(&service);
    let dir = service.dir.path().to_owned();
    let keys = dir.join("seal-keys");
    let credentials = |service: &Service| {
        done(ask(service, "GET", &format!("/clusters/{cluster}/credentials"), &Value::Null))
    };
    let before = (credentials(&service), fs::read_to_string(&keys).unwrap());
    let lines = |text: &str| {
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>()
    };
    for (command, left) in [("rotate", 2), ("forget", 1)] {
        let output = admin(&dir, &[command]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(credentials(&service), before.0);
        assert_eq!(lines(&fs::read_to_string(&keys).unwrap()).len(), left, "{command}");
        let listed = text(&admin(&dir, &["list"]).stdout);
        assert!(listed.contains("All secrets are sealed"), "{listed}");
    }
    assert_ne!(lines(&fs::read_to_string(&keys).unwrap()), lines(&before.1));

    let dir = service.stop();
    fs::rename(&keys, dir.path().join("elsewhere")).unwrap();
    let said = refused(dir.path());
    assert!(said.contains("there is no key file") && said.contains("nothing is lost"), "{said}");
    assert!(!keys.exists(), "no other key is made");
    fs::write(&keys, &before.1).unwrap();
    let said = refused(dir.path());
    assert!(said.contains("open to others"), "{said}");
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o600)).unwrap();
    let said = refused(dir.path());
    assert!(said.contains("sealed with the key") && said.contains("nothing is lost"), "{said}");
    fs::rename(dir.path().join("elsewhere"), &keys).unwrap();
    let service = Service::on(dir);
    assert_eq!(credentials(&service), before.0);
    assert!(words.iter().all(|word| !service.log().contains(word)));
}

/// What has secrets in a service's data: records, and files by their names.
#[derive(PartialEq, Debug)]
struct Data {
    clusters: Vec<ClusterRecord>,
    infra_envs: Vec<InfraEnvRecord>,
    files: Vec<(Key, Vec<u8>)>,
}

const FILES: [&str; 3] = ["one/kubeconfig", "one/logs/host", "two"];

async fn open(data: &Path) -> (Store, Blob) {
    let database = format!("sqlite:{}", data.join("assisted.db").display());
    (Store::open(&database).await.unwrap(), Blob::open(data.join("files")).await.unwrap())
}

impl Data {
    async fn read(data: &Path) -> Self {
        let (store, blob) = open(data).await;
        let keys = Keyring::read(&KeyFile::new(data.join("seal-keys"), None)).await.unwrap();
        store.unlock(&keys).await.unwrap();
        let blob = blob.sealed(keys);
        let mut files = Vec::new();
        for name in FILES {
            let key = Key::new(name).unwrap();
            if blob.exists(&key).await.unwrap() {
                let content = blob.get(&key, 1 << 20).await.unwrap().to_vec();
                files.push((key, content));
            }
        }
        let clusters = store.clusters(&Default::default()).await.unwrap();
        let infra_envs = store.infra_envs(&Default::default()).await.unwrap();
        Self {
            clusters: clusters.into_iter().map(|stored| stored.record).collect(),
            infra_envs: infra_envs.into_iter().map(|stored| stored.record).collect(),
            files,
        }
    }

    /// As an older program left it.
    async fn write_plain(&self, data: &Path) {
        let (store, blob) = open(data).await;
        let mut batch = Batch::new();
        for record in &self.clusters {
            batch.insert_cluster(record);
        }
        for record in &self.infra_envs {
            batch.insert_infra_env(record);
        }
        store.write(batch).await.unwrap();
        for (key, content) in &self.files {
            blob.put(key, content.clone()).await.unwrap();
        }
    }
}

/// Kinds of the steps of sealing: what else a service does while it starts comes between them now and then, and is not counted.
const SEALING: &str = "write a file of secrets|insert seal_keys|update clusters|update infra_envs|put host|put kubeconfig|put two|\
                       update seal_keys";

#[test]
fn sealing_is_gone_on_with_wherever_it_was_killed() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let service = Service::simulating();
    let auth = BASE64_STANDARD.encode(PULL);
    let pull_secret = json!({"auths": {"quay.io": {"auth": auth, "email": "a@example.com"}}}).to_string();
    fs::write(service.dir.path().join("pull-secret.json"), pull_secret).unwrap();
    service.cluster(NAME);
    let dir = service.stop();
    let files = FILES.map(|name| (Key::new(name).unwrap(), format!("{OVERRIDE} of {name}").into_bytes()));
    let data = Data { files: files.to_vec(), ..runtime.block_on(Data::read(dir.path())) };
    let words = [auth, OVERRIDE.to_owned()];
    let readable = |dir: &Path| {
        let bytes = files_of_data(dir).into_iter().map(|path| fs::read(path).unwrap_or_default());
        bytes
            .flat_map(|bytes| found(&bytes, &words).into_iter().map(str::to_owned).collect::<Vec<_>>())
            .count()
    };

    let mut deaths = Vec::new();
    for step in 1.. {
        let dir = tempfile::tempdir().unwrap();
        runtime.block_on(data.write_plain(dir.path()));
        assert!(readable(dir.path()) >= 2);
        let program = Path::new(env!("CARGO_BIN_EXE_assisted"));
        let alive = Server::start(program, dir.path(), |command| {
            command.env(DIE_AFTER, format!("{step} {SEALING}"));
        });
        let has_ended = alive.is_err();
        drop(alive);
        if !has_ended {
            break;
        }
        let log = fs::read_to_string(dir.path().join("service.log")).unwrap();
        deaths.extend(log.lines().filter_map(|line| line.strip_prefix(DIED)).map(str::to_owned));
        // It listens when everything is sealed.
        drop(Server::start(program, dir.path(), |_| ()).unwrap());
        assert_eq!(runtime.block_on(Data::read(dir.path())), data, "after {deaths:?}");
        assert_eq!(readable(dir.path()), 0, "after {deaths:?}");
    }
    for certain in [
        "write a file of secrets",
        "insert seal_keys",
        "update clusters",
        "update infra_envs",
        "update seal_keys",
    ] {
        assert!(deaths.iter().any(|death| death == certain), "{certain}: {deaths:?}");
    }
    assert!(deaths.iter().filter(|death| death.starts_with("put ")).count() == FILES.len(), "{deaths:?}");
}
