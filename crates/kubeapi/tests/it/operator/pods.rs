//! What the operator has run, runs: its pods on a node, with the images of the docs' smallest example.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use assisted_base::http::{Proxies, Trust, authorities, builder};
use assisted_crd::agent_install::infra_env::{InfraEnv, InfraEnvStatus};
use assisted_simhost::plan::PULL_SECRET;
use assisted_testkit::built;
use assisted_testkit::kube::Kube;
use k8s_openapi::api::core::v1::{Secret, Service};
use k8s_openapi::api::networking::v1::Ingress;
use kube::Api;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::NAMESPACE;
use super::hub::{condition, folder, install};
use crate::hub::{Hub, define, eventually};
use crate::node::{GATEWAY, Node, address_of, is_own};

/// What a live image has to have at the least.
const ROOTFS: u64 = 101 << 20;
const KERNEL: u64 = 6 << 20;

/// How long a request may take.
const LIMIT: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn what_the_operator_makes_runs_and_serves() {
    if !is_own("operator::pods::what_the_operator_makes_runs_and_serves") {
        return;
    }
    let controllers = ["deployment-controller", "replicaset-controller", "statefulset-controller"];
    let kube = tokio::task::spawn_blocking(move || Kube::launch(&controllers).unwrap()).await.unwrap();
    install(&kube);
    let hub = Hub::of(kube).await;
    define(&hub.client, |group| group == "hive.openshift.io").await;
    let node = Node::start(&hub, NAMESPACE, built("assisted").unwrap()).await;
    let dir = tempfile::tempdir().unwrap();
    let image = live_image(dir.path());
    // Hosts get their agent from a container image: then no program has to be built for them.
    hub.apply(
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "more", "namespace": NAMESPACE},
                "data": {"AGENT_DELIVERY": "image"}})
        .to_string(),
    );
    hub.apply(&config(serve(&image)).to_string());

    wait(&hub, &node, &["agentserviceconfig/agent", "--for=condition=ReconcileCompleted"]).await;
    wait(&hub, &node, &["agentserviceconfig/agent", "--for=condition=DeploymentsHealthy"]).await;
    let told = condition(&hub.client, "ReconcileCompleted").await.unwrap();
    assert_eq!(told.1, "ReconcileSucceeded", "{told:?}");
    let told = condition(&hub.client, "DataPersistent").await.unwrap();
    assert_eq!((told.0.as_str(), told.1.as_str()), ("False", "EphemeralStorage"));

    let client = ingresses(&hub).await;
    let ask = async |url: &str| client.get(url).send().await.unwrap();
    assert_eq!(ask("https://assisted-service.example.com/ready").await.status(), 200);
    assert_eq!(ask("https://assisted-image-service.example.com/health").await.status(), 200);

    // The API server asks the webhooks, and the service does what objects say.
    hub.namespace("site").await;
    let both = json!({"clusterRef": {"name": "a", "namespace": "site"}, "osImageVersion": "4.20"});
    let refused = hub.try_apply(&infra_env("both", &both)).unwrap_err();
    assert!(refused.contains("Either Spec.ClusterRef or Spec.OSImageVersion"), "{refused}");
    hub.apply(
        &json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull", "namespace": "site"},
                "type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": PULL_SECRET}})
        .to_string(),
    );
    hub.apply(&infra_env("rack", &json!({})));
    wait(&hub, &node, &["infraenv/rack", "--namespace=site", "--for=condition=ImageCreated"]).await;
    let shown = status(&hub).await;
    let events_url = shown.debug_info.as_ref().unwrap().events_url.clone();
    let size = std::fs::metadata(&image).unwrap().len();
    let is_image = async || {
        let answer = ask(&shown.iso_download_url).await;
        assert_eq!((answer.status().as_u16(), answer.content_length()), (200, Some(size)));
    };
    is_image().await;
    let events: Vec<Value> = ask(&events_url).await.json().await.unwrap();
    assert!(!events.is_empty(), "{events_url}");

    // The database is that of the pod: what is in it outlives its program.
    node.crash("assisted-service").await;
    eventually("it is started again", async || node.restarts("assisted-service").await == 1).await;
    eventually("it is ready", async || {
        let answer = client.get("https://assisted-service.example.com/ready").send().await;
        answer.is_ok_and(|answer| answer.status() == 200)
    })
    .await;
    let after: Vec<Value> = ask(&events_url).await.json().await.unwrap();
    assert!(events.iter().all(|event| after.contains(event)), "{events:?} {after:?}");
    is_image().await;
    assert_eq!(status(&hub).await.iso_download_url, shown.iso_download_url);

    let log = node.log().await;
    assert!(!log.contains("forbidden"), "what it asks for is not among its rights: {log}");
}

/// The smallest example, with an image for hosts.
fn config(files: SocketAddr) -> Value {
    let text = std::fs::read_to_string(folder("examples/one-node.yaml")).unwrap();
    let mut config: Value = serde_yaml_ng::from_str(&text).unwrap();
    config["metadata"]["annotations"] =
        json!({"unsupported.agent-install.openshift.io/assisted-service-configmap": "more"});
    config["spec"]["osImages"] = json!([{
        "openshiftVersion": "4.20", "cpuArchitecture": "x86_64", "version": "420.1",
        "url": format!("http://{files}/live.iso"),
    }]);
    config
}

fn infra_env(name: &str, more: &Value) -> String {
    let mut spec = json!({"pullSecretRef": {"name": "pull"}, "imageType": "full-iso"});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
           "metadata": {"name": name, "namespace": "site"}, "spec": spec})
    .to_string()
}

async fn status(hub: &Hub) -> InfraEnvStatus {
    let api: Api<InfraEnv> = Api::namespaced(hub.client.clone(), "site");
    api.get("rack").await.unwrap().status.unwrap()
}

/// Waits as the docs do.
async fn wait(hub: &Hub, node: &Node, args: &[&str]) {
    let mut kubectl = hub.kube.kubectl();
    kubectl.arg("wait").args(args).arg("--timeout=4m");
    let output = tokio::task::spawn_blocking(move || kubectl.output().unwrap()).await.unwrap();
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        let objects = hub.get(&["get", "agentserviceconfigs,pods", "--all-namespaces", "--output=json"]);
        panic!("{args:?}: {told}\n{objects:#}\n{}", node.log().await);
    }
}

/// A live image of nothing, as large as one has to be.
fn live_image(dir: &Path) -> std::path::PathBuf {
    let tree = dir.join("tree");
    for (path, content, size) in [
        ("images/pxeboot/vmlinuz", "", KERNEL),
        ("images/pxeboot/initrd.img", "", 10_000),
        ("images/pxeboot/rootfs.img", "", ROOTFS),
        ("images/ignition.img", "", 256 << 10),
        ("coreos/igninfo.json", r#"{"file": "images/ignition.img"}"#, 31),
    ] {
        let path = tree.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = std::fs::File::create(path).unwrap();
        file.write_all(content.as_bytes()).unwrap();
        file.set_len(size).unwrap();
    }
    let path = dir.join("live.iso");
    let mut xorriso = Command::new("xorriso");
    xorriso.args(["-as", "mkisofs", "-quiet", "-V", "rhcos-test", "-R", "-o"]).args([&path, &tree]);
    let made = xorriso.output().expect("xorriso is missing: run `cargo xtask setup`");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    path
}

/// Serves a file to pods.
fn serve(path: &Path) -> SocketAddr {
    let listener = std::net::TcpListener::bind((GATEWAY, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let path = path.to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = BufReader::new(stream);
            let (mut head, mut line) = (String::new(), "-".to_owned());
            while !line.trim().is_empty() {
                line.clear();
                drop(stream.read_line(&mut line));
                head.push_str(&line);
            }
            let mut file = std::fs::File::open(&path).unwrap();
            let length = file.metadata().unwrap().len();
            let stream = stream.get_mut();
            // Whoever asks may have enough before the end.
            drop(write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"));
            if head.starts_with("GET ") {
                drop(std::io::copy(&mut file, stream));
            }
        }
    });
    address
}

/// Does what an ingress controller does for the operator's two, and gives a client that trusts what hosts are told to trust.
async fn ingresses(hub: &Hub) -> reqwest::Client {
    let secrets: Api<Secret> = Api::namespaced(hub.client.clone(), NAMESPACE);
    let ca = secrets.get("assisted-service-ingress").await.unwrap().data.unwrap()["ca.crt"].0.clone();
    let trust = Trust::Only(authorities(&ca).unwrap());
    let mut client = builder("test", trust, &Proxies::None).unwrap().http1_only().timeout(LIMIT);
    // Each request is one of its own: what served the one before may be gone.
    client = client.pool_max_idle_per_host(0);
    for (number, name) in [(2, "assisted-service"), (3, "assisted-image-service")] {
        let address = SocketAddr::from(([127, 0, 0, number], 443));
        let host = ingress(hub, name, address).await;
        client = client.resolve(&host, address);
    }
    client.build().unwrap()
}

/// Leads from an address to what an Ingress names, by TLS with its certificate; gives its host.
async fn ingress(hub: &Hub, name: &str, address: SocketAddr) -> String {
    let ingresses: Api<Ingress> = Api::namespaced(hub.client.clone(), NAMESPACE);
    let spec = ingresses.get(name).await.unwrap().spec.unwrap();
    let rule = spec.rules.unwrap().remove(0);
    let backend = rule.http.unwrap().paths.remove(0).backend.service.unwrap();
    let port = u16::try_from(backend.port.unwrap().number.unwrap()).unwrap();
    let services: Api<Service> = Api::namespaced(hub.client.clone(), NAMESPACE);
    let to = address_of(&services.get(&backend.name).await.unwrap(), port);

    let secrets: Api<Secret> = Api::namespaced(hub.client.clone(), NAMESPACE);
    let tls = spec.tls.unwrap().remove(0);
    let secret = secrets.get(&tls.secret_name.unwrap()).await.unwrap().data.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = |member: &str| {
        let path = dir.path().join(member);
        std::fs::write(&path, &secret[member].0).unwrap();
        path
    };
    let tls = assisted_api::server::tls(&file("tls.crt"), &file("tls.key"), "").unwrap();
    let acceptor = TlsAcceptor::from(tls);
    let listener = TcpListener::bind(address).await.unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let (Ok(mut from), Ok(mut to)) =
                    (acceptor.accept(stream).await, TcpStream::connect(to).await)
                else {
                    return;
                };
                drop(tokio::io::copy_bidirectional(&mut from, &mut to).await);
            });
        }
    });
    rule.host.unwrap()
}
