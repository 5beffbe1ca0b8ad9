//! An installation of the replaced service is taken over, and its hosts go on.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use assisted_blob::{Blob, Key, S3};
use assisted_testkit::{AwsServer, Postgres};
use serde_json::{Value, json};
use tokio_postgres::NoTls;

use crate::images;
use crate::secrets::ask;
use crate::service::{Service, on_terminal, peak_memory_of, text};

/// The tables of the replaced service, and an installation in them.
pub const SCHEMA: &str = include_str!("../../../../crates/import/tests/data/schema.sql");
pub const FILL: &str = include_str!("../../../../crates/import/tests/data/fill.sql");

fn theirs() -> String {
    theirs_with("")
}

/// The same, changed by further statements.
fn theirs_with(changes: &str) -> String {
    let address = Postgres::start().unwrap().create_database().unwrap();
    wait_for(async {
        let (client, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        client.batch_execute(&format!("{SCHEMA}{FILL}{changes}")).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
    });
    address
}

/// Waits for work of the runtime.
pub fn wait_for<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn import(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assisted"));
    command.arg("import").args(args).current_dir(dir).env("ASSISTED_DATA_DIR", dir).output().unwrap()
}

#[test]
fn a_service_is_taken_over_with_the_hosts_that_poll() {
    let (theirs, dir, files) = (theirs(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let cluster = "10000000-0000-4000-8000-000000000007";
    std::fs::create_dir(files.path().join(cluster)).unwrap();
    std::fs::write(files.path().join(cluster).join("kubeconfig"), "clusters: []").unwrap();
    let place = files.path().display().to_string();
    let came = import(dir.path(), &["--from", &theirs, "--files", &place, "-o", "json"]);
    assert!(came.status.success(), "{}", text(&came.stderr));
    let report: Value = serde_json::from_slice(&came.stdout).unwrap();
    assert_eq!(report["counts"]["clusters"], json!({"taken": 100, "there": 0, "left": 1}), "{report}");
    assert_eq!(report["counts"]["files"]["taken"], 1, "{report}");
    // Once more by somebody on a terminal, who sees that something goes on.
    let mut terminal = on_terminal(&["import", "--files", &place]);
    terminal.env("ASSISTED_IMPORT_FROM", &theirs).env("ASSISTED_DATA_DIR", dir.path());
    let again = terminal.current_dir(dir.path()).output().unwrap();
    let shown = text(&again.stdout);
    assert!(again.status.success(), "{shown:?}");
    assert!(shown.contains("takes over") && shown.contains("WERE HERE"), "{shown:?}");
    assert!(!text(&came.stderr).contains("takes over"), "{came:?}");

    let service = Service::on_with_env(dir, &[("GENERATOR", "simulation")]);
    assert_eq!(service.json(&["cluster", "list"]).as_array().unwrap().len(), 100);
    let got = service.cli(&["cluster", "download", cluster, "kubeconfig", "--to", "kubeconfig.yaml"]);
    assert!(got.status.success(), "{}\n{}", text(&got.stderr), service.log());
    // A host of a cluster that is ready, with the id that its agent has.
    let host =
        "/v2/infra-envs/20000000-0000-4000-8000-000000000001/hosts/30000000-0000-4000-8000-000000000001";
    let path = host.strip_prefix("/v2").unwrap();
    let (status, body) = ask(&service, "GET", &format!("{path}/instructions"), &Value::Null);
    assert!(status.contains(" 200"), "{status}: {body}\n{}", service.log());
    let (_, body) = ask(&service, "GET", path, &Value::Null);
    let shown: Value = serde_json::from_str(&body).unwrap();
    assert!(shown["checked_in_at"].as_str().unwrap() > "2026-03-01T00:00:02.000Z", "{shown}");
    assert!(shown["inventory"].as_str().unwrap().contains("host-1"), "{shown}");
    let told = import(service.dir.path(), &["--from", &theirs]);
    assert!(text(&told.stderr).contains("another service is at work"), "{}", text(&told.stderr));
    assert!(!service.log().contains("fence-secret"), "{}", service.log());
}

#[test]
fn files_come_out_of_a_bucket() {
    let (theirs, dir, server) =
        (theirs(), tempfile::tempdir().unwrap(), AwsServer::bucket().unwrap().endpoint);
    let (cluster, name) = ("10000000-0000-4000-8000-000000000007", "of-the-replaced-service");
    let place = S3::at(server.parse().unwrap(), name, "me", "hush-bucket");
    wait_for(async {
        let bucket = Blob::bucket(place).await.unwrap();
        for file in ["kubeconfig", "logs/controller/logs.tar.gz", "manifests/openshift/a.yaml"] {
            bucket.put(&Key::new(format!("{cluster}/{file}")).unwrap(), "clusters: []").await.unwrap();
        }
    });
    let import = |bucket: &str, endpoint: &str| {
        let place = format!("s3://{bucket}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_assisted"));
        command.args(["import", "--from", &theirs, "--files", &place, "--s3-endpoint-url", endpoint]);
        command.args(["--s3-region", "us-east-1", "-o", "json"]).current_dir(dir.path());
        command.env("ASSISTED_DATA_DIR", dir.path()).env("ASSISTED_IMPORT_ACCESS_KEY_ID", "me");
        command.env("ASSISTED_IMPORT_SECRET_ACCESS_KEY", "hush-bucket").output().unwrap()
    };
    // A bucket of the other service is not made here, and one that is not there is no empty one.
    let refused = import("of-nobody", &server);
    let told = text(&refused.stderr);
    assert!(!refused.status.success() && told.contains("the bucket of --files can't be used"), "{told}");
    assert!(!told.contains("hush-bucket"), "{told}");

    for (taken, there) in [(3, 0), (0, 3)] {
        let came = import(name, &server);
        assert!(came.status.success(), "{}", text(&came.stderr));
        let report: Value = serde_json::from_slice(&came.stdout).unwrap();
        assert_eq!(report["counts"]["files"], json!({"taken": taken, "there": there, "left": 0}), "{report}");
    }
    let service = Service::on_with_env(dir, &[("GENERATOR", "simulation")]);
    let got = service.cli(&["cluster", "download", cluster, "kubeconfig", "--to", "kubeconfig.yaml"]);
    assert!(got.status.success(), "{}\n{}", text(&got.stderr), service.log());
    let kept = std::fs::read_to_string(service.dir.path().join("kubeconfig.yaml")).unwrap();
    assert_eq!(kept, "clusters: []");
}

/// Two clusters in the middle: of `cluster-17` the control plane starts from its disks, `cluster-18` waits for its operators. As if that had
/// begun just now: how long it may take goes on.
const UNDER_WAY: &str = "
    update clusters set install_started_at = now(), status_updated_at = now(), updated_at = now(),
        progress_finalizing_stage_started_at = case when status = 'finalizing' then now() end
        where name in ('cluster-17', 'cluster-18');
    update hosts set status = 'installing-in-progress', status_info = '', progress_progress_info = '',
        progress_current_stage = case when bootstrap then 'Waiting for control plane' else 'Rebooting' end
        where cluster_id = uid(1, 17);
    update hosts set status = 'installed', status_info = '', progress_progress_info = '', progress_current_stage = 'Done'
        where cluster_id = uid(1, 18);
    update hosts set checked_in_at = now(), registered_at = now(), status_updated_at = now(), updated_at = now(),
        progress_stage_started_at = now(), progress_stage_updated_at = now()
        where cluster_id in (uid(1, 17), uid(1, 18));
";

/// What its installer has made for a cluster.
const NO_INGRESS: &str = r#"{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":
    "https://api.c.example.com:6443","certificate-authority-data":""}}],"contexts":[],"users":[],"current-context":"admin"}"#;
const CA: &str = include_str!("../../../../crates/service/tests/data/ca.pem");

/// Waits until a cluster has a status.
fn until_status(service: &Service, path: &str, status: &str) -> Value {
    let limit = Instant::now() + Duration::from_secs(60);
    loop {
        let shown: Value = serde_json::from_str(&done(service, "GET", path, &Value::Null)).unwrap();
        if shown["status"] == status {
            return shown;
        }
        assert!(Instant::now() < limit, "not {status}: {shown:#}\n{}", service.log());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Thirty times as much, with inventories as long as those of machines with many disks.
const LARGE: &str = "
    create function later(id text, k int) returns text language sql immutable as
        $$ select case when id = '' then '' else left(id, 24) || lpad((right(id, 12)::int + k * 10000)::text, 12, '0') end $$;
    insert into infra_envs select r.* from infra_envs e, generate_series(1, 30) k, jsonb_populate_record(e, jsonb_build_object(
        'id', later(e.id, k), 'cluster_id', later(e.cluster_id, k), 'name', e.name || '-' || k)) r;
    insert into hosts select r.* from hosts h, generate_series(1, 30) k, jsonb_populate_record(h, jsonb_build_object(
        'id', later(h.id, k), 'cluster_id', later(h.cluster_id, k), 'infra_env_id', later(h.infra_env_id, k),
        'inventory', case when h.inventory like '{%' then (h.inventory::jsonb || jsonb_build_object('disks', (
            select jsonb_agg(jsonb_build_object('name', 'sd' || d, 'size_bytes', 120000000000, 'smart', repeat('smart ', 150)))
            from generate_series(1, 12) d)))::text else h.inventory end)) r
        where exists (select from infra_envs e where e.id = h.infra_env_id) and h.cluster_id is distinct from uid(1, 200);
    insert into events select r.* from events v, generate_series(1, 30) k, jsonb_populate_record(v, jsonb_build_object(
        'id', v.id + k * 100000, 'cluster_id', later(v.cluster_id, k), 'host_id', later(v.host_id, k),
        'infra_env_id', later(v.infra_env_id, k))) r
        where v.cluster_id is distinct from uid(1, 999);
    insert into clusters select r.* from clusters c, generate_series(1, 30) k, jsonb_populate_record(c, jsonb_build_object(
        'id', later(c.id, k), 'name', c.name || '-' || k,
        -- Of a hub's object there is one.
        'kube_key_name', case when c.kube_key_name = '' then '' else c.kube_key_name || '-' || k end)) r
        where c.deleted_at is null;
    do $$ declare t text; begin
        foreach t in array array['cluster_networks', 'service_networks', 'machine_networks', 'api_vips', 'ingress_vips',
            'monitored_operators'] loop
            execute format('insert into %1$I select r.* from %1$I o, generate_series(1, 30) k,
                jsonb_populate_record(o, jsonb_build_object(''cluster_id'', later(o.cluster_id, k))) r', t);
        end loop;
    end $$;
";

/// Takes all of it over into a folder and the database that may be named: the report, and the most memory that was held, in KiB.
fn measured(theirs: &str, dir: &Path, database: Option<&str>) -> (Value, u64) {
    let told = dir.join("report.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_assisted"));
    command.args(["import", "--from", theirs, "-o", "json"]).env("ASSISTED_DATA_DIR", dir.join("data"));
    command.envs(database.map(|address| ("ASSISTED_DATABASE", address)));
    let mut child = command.stdout(std::fs::File::create(&told).unwrap()).spawn().unwrap();
    let limit = Instant::now() + Duration::from_secs(20 * 60);
    let mut most = 0;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() >= limit {
            child.kill().unwrap();
            panic!("the import does not end");
        }
        most = most.max(peak_memory_of(child.id()).unwrap_or_default());
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success(), "{status}");
    (serde_json::from_slice(&std::fs::read(&told).unwrap()).unwrap(), most)
}

/// How long it takes, and how much memory, is told and not judged.
#[test]
#[allow(clippy::print_stdout, reason = "figures")]
fn everything_of_a_large_installation_is_taken_over() {
    let theirs = theirs_with(LARGE);
    let ours = Postgres::start().unwrap().create_database().unwrap();
    for (engine, database) in [("SQLite", None), ("PostgreSQL", Some(ours.as_str()))] {
        let dir = tempfile::tempdir().unwrap();
        for is_first in [true, false] {
            let began = Instant::now();
            let (report, most) = measured(&theirs, dir.path(), database);
            let took = began.elapsed().as_secs_f64();
            for (kind, count, left) in
                [("clusters", 3100, 1), ("infra_envs", 3193, 0), ("hosts", 9610, 2), ("events", 34_193, 0)]
            {
                let told = &report["counts"][kind];
                let taken = if is_first { count } else { 0 };
                // What none was met of has no counts.
                let found = ["taken", "left"].map(|what| told[what].as_u64().unwrap_or_default());
                assert_eq!(found, [taken, left], "{kind}: {told}");
                println!("{engine}: {taken} {kind} taken");
            }
            println!("{engine}: {took:.1} s, {} MB at the most", most / 1024);
        }
    }
}

/// The body of the answer to what has to succeed.
fn done(service: &Service, method: &str, path: &str, body: &Value) -> String {
    let (status, answer) = ask(service, method, path, body);
    assert!(status.contains(" 20"), "{method} {path} {body}: {status} {answer}\n{}", service.log());
    answer
}

/// A host goes from the stage where it was to the last one.
fn goes_on(service: &Service, path: &str) {
    let shown: Value = serde_json::from_str(&done(service, "GET", path, &Value::Null)).unwrap();
    let stages = shown["progress_stages"].as_array().unwrap();
    let reached = stages.iter().position(|stage| *stage == shown["progress"]["current_stage"]).unwrap();
    assert!(reached > 0 && reached + 1 < stages.len(), "{shown:#}");
    for stage in &stages[reached + 1..] {
        done(service, "PUT", &format!("{path}/progress"), &json!({ "current_stage": stage }));
    }
}

#[test]
fn installations_that_are_under_way_come_to_their_end() {
    let (theirs, dir) = (theirs_with(UNDER_WAY), tempfile::tempdir().unwrap());
    let files = tempfile::tempdir().unwrap();
    let id = |kind: u8, number: u32| format!("{kind}0000000-0000-4000-8000-{number:012}");
    let numbers = [17, 18];
    for number in numbers {
        let folder = files.path().join(id(1, number));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("kubeconfig-noingress"), NO_INGRESS).unwrap();
    }
    let place = files.path().display().to_string();
    let came = import(dir.path(), &["--from", &theirs, "--files", &place]);
    assert!(came.status.success(), "{}", text(&came.stderr));
    let service = Service::on_with_env(dir, &[("GENERATOR", "simulation")]);
    let host = |cluster: u32, number: u32| format!("/infra-envs/{}/hosts/{}", id(2, cluster), id(3, number));
    let clusters = numbers.map(|number| format!("/clusters/{}", id(1, number)));
    until_status(&service, &clusters[0], "installing");
    until_status(&service, &clusters[1], "finalizing");

    // Hosts and controllers go on where they were, and know nothing of who answers now.
    for number in 49..=51 {
        goes_on(&service, &host(17, number));
    }
    for cluster in &clusters {
        until_status(&service, cluster, "finalizing");
        for stage in ["Adding router ca", "Applying olm manifests", "Done"] {
            done(&service, "PUT", &format!("{cluster}/progress"), &json!({ "finalizing_stage": stage }));
        }
        done(&service, "POST", &format!("{cluster}/uploads/ingress-cert"), &json!(CA));
        let operators = done(&service, "GET", &format!("{cluster}/monitored-operators"), &Value::Null);
        let operators: Value = serde_json::from_str(&operators).unwrap();
        for operator in operators.as_array().unwrap() {
            let report = json!({"name": operator["name"], "status": "available", "status_info": "fine"});
            done(&service, "PUT", &format!("{cluster}/monitored-operators"), &report);
        }
    }
    for (number, cluster) in numbers.into_iter().zip(&clusters) {
        let shown = until_status(&service, cluster, "installed");
        assert_eq!(shown["status_info"], "Cluster is installed", "{shown:#}");
        assert_eq!(shown["progress"]["total_percentage"], 100, "{shown:#}");
        for host in shown["hosts"].as_array().unwrap() {
            assert_eq!(
                (&host["status"], &host["progress"]["current_stage"]),
                (&"installed".into(), &"Done".into())
            );
        }
        let id = id(1, number);
        let got = service.cli(&["cluster", "download", &id, "kubeconfig", "--to", "kubeconfig.yaml"]);
        assert!(got.status.success(), "{}\n{}", text(&got.stderr), service.log());
        let kept = std::fs::read_to_string(service.dir.path().join("kubeconfig.yaml")).unwrap();
        assert!(
            kept.contains("certificate-authority-data: ") && kept.contains("api.c.example.com"),
            "{kept}"
        );
        let events = service.json(&["event", "list", "--cluster", &id]);
        let named = events.as_array().unwrap().iter().map(|event| event["name"].as_str().unwrap_or_default());
        assert_eq!(named.filter(|name| *name == "cluster_installation_completed").count(), 1, "{events:#}");
    }
}

/// The status that a host's poll gets, with the token that its agent was given by the replaced service.
pub fn poll(service: &Service, host: &str, token: Option<&str>) -> String {
    let header = token.map_or_else(String::new, |token| format!("X-Secret-Key: {token}\r\n"));
    let address = service.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let path = format!("/api/assisted-install{host}/instructions");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{header}\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap().to_owned()
}

#[test]
fn hosts_poll_on_with_the_tokens_that_they_have() {
    let (theirs, dir) = (theirs(), tempfile::tempdir().unwrap());
    let came = import(dir.path(), &["--from", &theirs]);
    assert!(came.status.success(), "{}", text(&came.stderr));
    let service = Service::on_with_env(
        dir,
        &[
            ("GENERATOR", "simulation"),
            ("AUTH_TYPE", "local"),
            ("EC_PRIVATE_KEY_PEM", images::ONE.private),
            ("EC_PUBLIC_KEY_PEM", images::ONE.public),
        ],
    );
    let infra_env = "20000000-0000-4000-8000-000000000001";
    let host = format!("/v2/infra-envs/{infra_env}/hosts/30000000-0000-4000-8000-000000000001");
    // The replaced service has signed with the same key.
    let status = poll(&service, &host, Some(&images::ONE.token(infra_env, 1)));
    assert!(status.contains(" 200"), "{status}\n{}", service.log());
    for token in [
        None,
        Some(images::OTHER.token(infra_env, 1)),
        Some(images::ONE.token("20000000-0000-4000-8000-000000000002", 1)),
        Some(images::ONE.token(infra_env, -1)),
    ] {
        let status = poll(&service, &host, token.as_deref());
        assert!(
            status.contains(" 401") || status.contains(" 403") || status.contains(" 404"),
            "{token:?}: {status}"
        );
    }
}

#[test]
fn what_is_no_database_of_the_replaced_service_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let told = |args: &[&str]| {
        let output = import(dir.path(), args);
        assert!(!output.status.success());
        text(&output.stderr)
    };
    assert!(told(&["--from", "mysql://u:hunter2@db"]).contains("no address of a PostgreSQL"));
    let empty = Postgres::start().unwrap().create_database().unwrap();
    assert!(told(&["--from", &empty]).contains("it has no table clusters"));
    let unreachable = told(&["--from", "postgres://u:hunter2@127.0.0.1:1/x?connect_timeout=5"]);
    assert!(unreachable.contains("can't be read") && !unreachable.contains("hunter2"), "{unreachable}");
    assert!(told(&["--from", &empty, "--files", "/nowhere"]).contains("there is no folder /nowhere"));
}

#[test]
fn the_database_of_the_replaced_service_is_imported_and_not_opened() {
    let (theirs, dir) = (theirs(), tempfile::tempdir().unwrap());
    let mut serve = Command::new(env!("CARGO_BIN_EXE_assisted"));
    serve.args(["serve", "--listen", "127.0.0.1:0", "--database", &theirs, "--data-dir"]).arg(dir.path());
    let output = serve.env("ENABLE_IMAGE_SERVICE", "false").output().unwrap();
    let told = text(&output.stderr);
    assert!(!output.status.success() && told.contains("another program's"), "{told}");
    assert!(told.contains("assisted import --from postgres://"), "{told}");
    // It was not touched: all of it can be taken over.
    let came = import(dir.path(), &["--from", &theirs, "-o", "json"]);
    assert!(came.status.success(), "{}", text(&came.stderr));
    let report: Value = serde_json::from_slice(&came.stdout).unwrap();
    assert_eq!(report["counts"]["clusters"]["taken"], 100, "{report}");
}
