//! What the image service and those who boot machines fetch of an infra-env.

use std::collections::BTreeMap;

use assisted_api::Api;
use assisted_api::server::serve;
use assisted_auth::Signer;
use assisted_config::{AgentDelivery, AuthType, Settings};
use assisted_isokit::cpio::{Limits, read};
use assisted_service::TokenResource;
use jiff::{Span, Timestamp};
use p256::pkcs8::{EncodePrivateKey, EncodePublicKey, LineEnding};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use sha2::{Digest, Sha512};

use crate::life::{HOST, PULL_SECRET};
use crate::server::Server;

const NETWORK: &str = "interfaces:\n- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.9, prefix-length: 24}]}}\n";

/// Settings with everything that images need; the program for hosts is in the folder.
fn settings(programs: &std::path::Path) -> Settings {
    let mut settings = Settings::default();
    settings.http.service_base_url = "https://assisted.example.com:8090/".to_owned();
    settings.http.image_service_base_url = "https://images.example.com/v3".to_owned();
    settings.images.host_programs_dir = programs.display().to_string();
    settings.images.registries_conf = programs.join("none").display().to_string();
    std::fs::write(programs.join("assisted-host-x86_64"), "a program").unwrap();
    settings
}

async fn start(change: impl Fn(&mut Settings)) -> (Server, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = settings(dir.path());
    change(&mut settings);
    (Server::start(settings).await, dir)
}

async fn infra_env(server: &Server, more: Value) -> String {
    let mut body = json!({"name": "images", "pull_secret": PULL_SECRET, "openshift_version": "4.20"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let (status, made) = server.call(Method::POST, "/v2/infra-envs", Some(body)).await;
    assert_eq!(status, 201, "{made}");
    made["id"].as_str().unwrap().to_owned()
}

fn networks() -> Value {
    json!([{"network_yaml": NETWORK, "mac_interface_map": [{"mac_address": "52:54:00:00:00:0A", "logical_nic_name": "eth0"}]}])
}

async fn get(server: &Server, id: &str, rest: &str) -> Response {
    server.client.get(format!("{}/v2/infra-envs/{id}/downloads/{rest}", server.url)).send().await.unwrap()
}

async fn text(server: &Server, id: &str, rest: &str) -> (u16, String) {
    let answer = get(server, id, rest).await;
    (answer.status().as_u16(), answer.text().await.unwrap())
}

/// Contents of the files of a config by their paths.
fn files(config: &str) -> BTreeMap<String, Value> {
    let config: Value = serde_json::from_str(config).unwrap();
    let files = config["storage"]["files"].as_array().unwrap().iter();
    files.map(|file| (file["path"].as_str().unwrap().to_owned(), file["contents"].clone())).collect()
}

#[tokio::test]
async fn the_ignition_config_of_a_host() {
    let (server, _dir) = start(|_| {}).await;
    let id = infra_env(&server, json!({"static_network_config": networks()})).await;
    let answer = get(&server, &id, "files?file_name=discovery.ign").await;
    assert_eq!(answer.status(), 200);
    let header = |name: &str| answer.headers().get(name).unwrap().to_str().unwrap().to_owned();
    assert_eq!(header("content-disposition"), r#"attachment; filename="discovery.ign""#);
    let (_, shown) = server.call(Method::GET, &format!("/v2/infra-envs/{id}"), None).await;
    let updated: Timestamp = shown["updated_at"].as_str().unwrap().parse().unwrap();
    assert_eq!(header("last-modified"), updated.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string());
    let length: usize = header("content-length").parse().unwrap();
    let config = answer.text().await.unwrap();
    assert_eq!(config.len(), length);
    assert!(config.contains(&format!("--infra-env-id {id} ")));

    // A full image carries the networks, and the agent comes after them; a minimal one has them before Ignition runs.
    let minimal = text(&server, &id, "files?file_name=discovery.ign&discovery_iso_type=minimal-iso").await.1;
    let network = "/etc/assisted/network/host0/mac_interface.ini";
    let (full, minimal) = (files(&config), files(&minimal));
    assert!(full.contains_key(network) && full.contains_key("/usr/local/bin/agent-fetch"));
    assert!(!minimal.contains_key(network));
    let program = &minimal["/usr/local/bin/agent"];
    assert_eq!(program["source"], "https://assisted.example.com:8090/assisted-host/x86_64");
    let body =
        server.client.get(format!("http://{}/assisted-host/x86_64", server.address)).send().await.unwrap();
    let body = body.bytes().await.unwrap();
    let hash = assisted_base::hex::encode(&Sha512::digest(&body));
    assert_eq!(program["verification"]["hash"], format!("sha512-{hash}"));
    // The other way round: the type of the image that is asked for counts, not the infra-env's.
    let id =
        infra_env(&server, json!({"static_network_config": networks(), "image_type": "minimal-iso"})).await;
    assert!(!files(&text(&server, &id, "files?file_name=discovery.ign").await.1).contains_key(network));
    let full = text(&server, &id, "files?file_name=discovery.ign&discovery_iso_type=full-iso").await.1;
    assert!(files(&full).contains_key(network));
    server.stop().await;
}

#[tokio::test]
async fn what_an_image_lacks_is_told() {
    let (server, dir) = start(|_| {}).await;
    let id = infra_env(&server, json!({"cpu_architecture": "arm64"})).await;
    let (status, told) = text(&server, &id, "files?file_name=discovery.ign").await;
    assert!(
        status == 503 && told.contains("assisted-host-aarch64") && told.contains("AGENT_DELIVERY=image"),
        "{told}"
    );
    for (path, status) in
        [("aarch64", 503), ("x86_64", 200), ("mips", 404), ("..%2f..%2fetc%2fpasswd", 404), ("", 404)]
    {
        let url = format!("http://{}/assisted-host/{path}", server.address);
        assert_eq!(server.client.get(url).send().await.unwrap().status(), status, "{path}");
    }
    // Each architecture has its own.
    std::fs::write(dir.path().join("assisted-host-aarch64"), "another program").unwrap();
    let config = text(&server, &id, "files?file_name=discovery.ign").await.1;
    let program = &files(&config)["/usr/local/bin/agent"];
    assert!(program["source"].as_str().unwrap().ends_with("/assisted-host/aarch64"), "{program}");
    let hash = assisted_base::hex::encode(&Sha512::digest("another program"));
    assert_eq!(program["verification"]["hash"], format!("sha512-{hash}"));
    let id = infra_env(&server, json!({"image_type": "disconnected-iso"})).await;
    assert_eq!(text(&server, &id, "files?file_name=discovery.ign").await.0, 404);
    server.stop().await;
    drop(dir);

    let (server, _dir) = start(|settings| settings.http.service_base_url.clear()).await;
    let id = infra_env(&server, json!({})).await;
    let (status, told) = text(&server, &id, "files?file_name=discovery.ign").await;
    assert!(status == 503 && told.contains("SERVICE_BASE_URL"), "{told}");
    server.stop().await;

    let (server, _dir) = start(|settings| settings.images.agent_delivery = AgentDelivery::Image).await;
    let id = infra_env(&server, json!({"cpu_architecture": "s390x"})).await;
    let config = text(&server, &id, "files?file_name=discovery.ign").await.1;
    assert!(files(&config).contains_key("/usr/local/bin/agent-pull-image"));
    server.stop().await;
}

#[tokio::test]
async fn what_does_not_work_is_refused_before_an_image_is_asked_for() {
    let (server, _dir) = start(|_| {}).await;
    let create = async |more: Value| {
        let mut body = json!({"name": "images", "pull_secret": PULL_SECRET, "openshift_version": "4.20"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (status, refused) = server.call(Method::POST, "/v2/infra-envs", Some(body)).await;
        assert_eq!(status, 400, "{refused}");
        refused["reason"].as_str().unwrap().to_owned()
    };
    // Not to be packed into less.
    let noise: String = (0..9000)
        .map(|number: u32| format!("{:x}", Sha512::digest(number.to_le_bytes()))[..64].to_owned())
        .collect();
    let over = |version: &str, content: &str| {
        json!({"ignition_config_override": json!({
            "ignition": {"version": version},
            "storage": {"files": [{"path": "/a", "contents": {"source": format!("data:,{content}")}}]},
        }).to_string()})
    };
    let refused = create(over("3.1.0", &noise)).await;
    assert!(
        refused.starts_with("The ignition archive size (")
            && refused.ends_with(" KiB) is over the maximum allowable size (256 KiB)"),
        "{refused}"
    );
    assert!(create(over("3.3.0", "")).await.contains("3.3.0"));
    assert!(create(over("3.1.0", "%")).await.contains("/a"));
    let bad = NETWORK.replace("192.0.2.9", "192.0.2.900");
    let refused =
        create(json!({"static_network_config": [{"network_yaml": bad, "mac_interface_map": []}]})).await;
    assert!(
        refused.starts_with("2 errors occurred:\n\t* at least one interface for host 0 must be provided\n"),
        "{refused}"
    );
    assert!(refused.contains("interface eth0, ipv4.address[0]: ip: 192.0.2.900"), "{refused}");

    // What is too large becomes so by any change.
    let id = infra_env(&server, json!({})).await;
    let path = format!("/v2/infra-envs/{id}");
    let (status, refused) = server.call(Method::PATCH, &path, Some(over("3.2.0", &noise))).await;
    assert_eq!(status, 400, "{refused}");
    assert_eq!(server.call(Method::PATCH, &path, Some(over("3.2.0", "small"))).await.0, 201);
    server.stop().await;
}

#[tokio::test]
async fn the_ramdisk_of_a_minimal_image() {
    let (server, _dir) = start(|_| {}).await;
    let id = infra_env(&server, json!({})).await;
    let answer = get(&server, &id, "minimal-initrd").await;
    assert_eq!((answer.status().as_u16(), answer.bytes().await.unwrap().len()), (204, 0));
    let more = json!({"static_network_config": networks(), "network_discovery_delay_seconds": 7, "proxy": {"http_proxy": "http://a:1"}});
    let id = infra_env(&server, more).await;
    let answer = get(&server, &id, "minimal-initrd").await;
    assert_eq!(answer.status(), 200);
    assert!(answer.headers().contains_key("last-modified"));
    let members = read(&answer.bytes().await.unwrap(), Limits::default()).unwrap();
    let content = |name: &str| {
        let member = members.iter().find(|member| member.name == name).unwrap_or_else(|| panic!("no {name}"));
        String::from_utf8(member.content.clone()).unwrap()
    };
    assert_eq!(content("/etc/assisted/network/host0/mac_interface.ini"), "52:54:00:00:00:0a=eth0\n");
    let unit = content("/etc/systemd/system/pre-network-manager-config.service");
    assert!(unit.contains("DISCOVERY_DELAY_SECONDS=7\n") && unit.contains("TimeoutSec=67\n"));
    assert!(
        content("/etc/systemd/system/coreos-livepxe-rootfs.service.d/10-proxy.conf")
            .contains("http_proxy=http://a:1")
    );
    assert!(content("/usr/local/bin/pre-network-manager-config.sh").starts_with("#!/bin/sh\n"));
    server.stop().await;
}

#[tokio::test]
async fn networks_for_people() {
    let (server, _dir) = start(|_| {}).await;
    let id = infra_env(&server, json!({})).await;
    let answer = get(&server, &id, "files?file_name=static-network-config").await;
    assert_eq!(answer.headers()["content-disposition"], r#"attachment; filename="""#);
    assert_eq!(answer.bytes().await.unwrap().len(), 0);
    for (version, file) in [("4.17", "eth0.nmconnection"), ("4.20", "ymlFile0.yml")] {
        let id =
            infra_env(&server, json!({"static_network_config": networks(), "openshift_version": version}))
                .await;
        let answer = get(&server, &id, "files?file_name=static-network-config").await;
        let name = format!(r#"attachment; filename="{id}-static-network-config.tar""#);
        assert_eq!(answer.headers()["content-disposition"].to_str().unwrap(), name);
        let body = answer.bytes().await.unwrap();
        let mut archive = tar::Archive::new(&body[..]);
        let names: Vec<String> = archive
            .entries()
            .unwrap()
            .map(|entry| String::from_utf8(entry.unwrap().path_bytes().into_owned()).unwrap())
            .collect();
        let folder = "/etc/assisted/network/host0";
        assert_eq!(names, [format!("{folder}/{file}"), format!("{folder}/mac_interface.ini")]);
    }
    server.stop().await;
}

#[tokio::test]
async fn scripts_for_machines_that_boot_from_the_network() {
    let (server, _dir) = start(|_| {}).await;
    let arguments =
        json!([{"operation": "append", "value": "p1=\"a b\""}, {"operation": "append", "value": "p2"}]);
    let id = infra_env(&server, json!({"kernel_arguments": arguments})).await;
    let boot = format!(
        "#!ipxe\ninitrd --name initrd https://images.example.com/v3/images/{id}/pxe-initrd?arch=x86_64&version=4.20\nkernel \
         https://images.example.com/v3/boot-artifacts/kernel?arch=x86_64&version=4.20 initrd=initrd \
         coreos.live.rootfs_url=https://images.example.com/v3/boot-artifacts/rootfs?arch=x86_64&version=4.20 random.trust_cpu=on \
         rd.luks.options=discard ignition.firstboot ignition.platform.id=metal console=tty1 console=ttyS1,115200n8 \
         coreos.inst.persistent-kargs=\"console=tty1 console=ttyS1,115200n8\" p1=\"a b\" p2\nboot\n"
    );
    assert_eq!(text(&server, &id, "files?file_name=ipxe-script").await, (200, boot.clone()));
    let mac = "files?file_name=ipxe-script&ipxe_script_type=boot-order-control&mac=52:54:00:00:00:0a";
    assert_eq!(text(&server, &id, mac).await, (200, boot));
    let redirect = format!(
        "#!ipxe\nchain https://assisted.example.com:8090/api/assisted-install/v2/infra-envs/{id}/downloads/files?\
         file_name=ipxe-script&mac=${{net0/mac}}\n"
    );
    assert_eq!(
        text(&server, &id, "files?file_name=ipxe-script&ipxe_script_type=boot-order-control").await,
        (200, redirect)
    );
    let (status, refused) =
        text(&server, &id, "files?file_name=discovery.ign&ipxe_script_type=boot-order-control").await;
    assert!(
        status == 400 && refused.contains(r#"\"ipxe_script_type\"\" can be set only for \"ipxe-script\""#),
        "{refused}"
    );
    assert_eq!(text(&server, &id, "files?file_name=ipxe-script&mac=x").await.0, 400);
    assert_eq!(text(&server, HOST, "files?file_name=ipxe-script").await.0, 404);
    server.stop().await;
}

/// Nobody adds lines: what boots runs as root.
#[tokio::test]
async fn scripts_and_units_have_no_lines_of_others() {
    let (server, _dir) = start(|_| {}).await;
    let append = |values: &[&str]| {
        let all: Vec<_> = values.iter().map(|value| json!({"operation": "append", "value": value})).collect();
        json!({"kernel_arguments": all})
    };
    let harmless = json!({
        "kernel_arguments": append(&["p1=\"a b\""])["kernel_arguments"],
        "proxy": {"http_proxy": "http://user:p%40ss@proxy:1", "no_proxy": "*"},
    });
    let id = infra_env(&server, harmless).await;
    // The script, and the settings of the unit that fetches the rest of a minimal image.
    let made = async || {
        let (status, script) = text(&server, &id, "files?file_name=ipxe-script").await;
        assert_eq!(status, 200, "{script}");
        let packed = get(&server, &id, "minimal-initrd").await.bytes().await.unwrap();
        let members = read(&packed, Limits::default()).unwrap();
        let unit = members.into_iter().find(|member| member.name.ends_with("/10-proxy.conf")).unwrap();
        (script, String::from_utf8(unit.content).unwrap())
    };
    let (script, unit) = made().await;
    let commands: Vec<_> = script.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(commands, ["#!ipxe", "initrd", "kernel", "boot"], "{script}");
    assert!(script.ends_with(" p1=\"a b\"\nboot\n"), "{script}");
    let proxy = "http://user:p%%40ss@proxy:1";
    let lines = [
        "[Service]".to_owned(),
        format!("Environment=http_proxy={proxy}"),
        "Environment=https_proxy=".to_owned(),
        "Environment=no_proxy=*".to_owned(),
        format!("Environment=HTTP_PROXY={proxy}"),
        "Environment=HTTPS_PROXY=".to_owned(),
        "Environment=NO_PROXY=*".to_owned(),
    ];
    assert_eq!(unit.lines().collect::<Vec<_>>(), lines);

    for body in [
        append(&["a=\"\nchain http://x/y\n\""]),
        append(&["a=\"\r\""]),
        append(&["a", "&&", "chain", "http://x/y"]),
        append(&["||", "chain", "http://x/y"]),
        json!({"proxy": {"http_proxy": "http://p:1", "no_proxy": "*\nExecStartPre=/bin/sh -c id"}}),
        json!({"proxy": {"http_proxy": "http://p:1", "no_proxy": "*\rExecStartPre=/bin/sh -c id"}}),
        json!({"proxy": {"http_proxy": "http://p:1", "no_proxy": "*,%n"}}),
        json!({"proxy": {"http_proxy": "http://p:1\nExecStartPre=/bin/sh -c id"}}),
    ] {
        let path = format!("/v2/infra-envs/{id}");
        let (status, refused) = server.call(Method::PATCH, &path, Some(body.clone())).await;
        assert_eq!(status, 400, "{body} {refused}");
        let mut new = json!({"name": "another", "pull_secret": PULL_SECRET, "openshift_version": "4.20"});
        new.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        let (status, refused) = server.call(Method::POST, "/v2/infra-envs", Some(new)).await;
        assert_eq!(status, 400, "{body} {refused}");
        assert_eq!(made().await, (script.clone(), unit.clone()), "{body}");
    }
    server.stop().await;
}

#[tokio::test]
async fn tokens_open_what_they_are_for() {
    let key = p256::SecretKey::from_slice(&[7; 32]).unwrap();
    let private = key.to_pkcs8_pem(LineEnding::LF).unwrap();
    let signer = Signer::new(&private.as_str().into()).unwrap();
    let public = key.public_key().to_public_key_pem(LineEnding::LF).unwrap();
    let (server, _dir) = start(|settings| {
        settings.auth.auth_type = AuthType::Local;
        settings.auth.ec_public_key_pem.clone_from(&public);
    })
    .await;
    let caller = assisted_service::Caller::admin(uuid::Uuid::new_v4());
    let params = json!({"name": "images", "pull_secret": PULL_SECRET, "openshift_version": "4.20"});
    let make = async || {
        server
            .service
            .infra_envs()
            .register(&caller, serde_json::from_value(params.clone()).unwrap())
            .await
            .unwrap()
            .id
    };
    let (one, other) = (make().await, make().await);
    let token = |span: Span| signer.token(TokenResource::InfraEnv(one), Timestamp::now() + span).unwrap();
    let (good, expired) = (token(Span::new().hours(1)), token(-Span::new().hours(1)));
    for file in ["files?file_name=discovery.ign", "files?file_name=ipxe-script", "minimal-initrd?"] {
        for (id, query, status) in [
            (one, format!("&api_key={}", good.expose()), &[200, 204][..]),
            (one, format!("&api_key={}", expired.expose()), &[401]),
            (one, String::new(), &[401]),
            (one, format!("&image_token={}", good.expose()), &[401]),
            (other, format!("&api_key={}", good.expose()), &[404]),
        ] {
            let (given, body) = text(&server, &id.to_string(), &format!("{file}{query}")).await;
            assert!(status.contains(&given), "{file} {given} {body}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn beside_tls_plain_http_gives_out_scripts_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = settings(dir.path());
    settings.http.http_listen_port = "8091".to_owned();
    let server = Server::start(settings.clone()).await;
    let id = infra_env(&server, json!({})).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let plain = format!("http://{}", listener.local_addr().unwrap());
    let api = Api::new(server.service.clone(), &settings).unwrap().ipxe_only();
    tokio::spawn(serve(listener, None, api, std::future::pending()));
    let status = async |method: Method, path: &str| {
        let asked = server.client.request(method, format!("{plain}{path}"));
        asked.send().await.unwrap().status().as_u16()
    };
    let files = format!("/api/assisted-install/v2/infra-envs/{id}/downloads/files");
    let script = format!("{files}?file_name=ipxe-script");
    for (method, path, expected) in [
        (Method::GET, script.clone(), 200),
        (Method::GET, format!("{files}?ipxe_script_type=boot-order-control&file_name=ipxe-script"), 200),
        (Method::HEAD, script.clone(), 404),
        (Method::GET, format!("{files}?file_name=discovery.ign"), 404),
        (Method::GET, format!("{files}?x=file_name%3Dipxe-script&file_name=discovery.ign"), 404),
        (Method::GET, script.replace(&id, "x"), 404),
        (Method::GET, format!("/api/assisted-install/v2/infra-envs/{id}"), 404),
        (Method::POST, "/api/assisted-install/v2/infra-envs".to_owned(), 404),
        (Method::GET, "/api/assisted-install/v2/openapi".to_owned(), 404),
        (Method::GET, "/health".to_owned(), 200),
    ] {
        assert_eq!(status(method.clone(), &path).await, expected, "{method} {path}");
    }
    // Machines are led to it, and from it to the images, without TLS.
    let (_, redirect) =
        text(&server, &id, "files?file_name=ipxe-script&ipxe_script_type=boot-order-control").await;
    assert!(redirect.contains("chain http://assisted.example.com:8091/api/"), "{redirect}");
    let (_, boot) = text(&server, &id, "files?file_name=ipxe-script").await;
    assert!(boot.contains("initrd --name initrd http://images.example.com/v3/images/"), "{boot}");
    server.stop().await;
}
