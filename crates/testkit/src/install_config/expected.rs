//! What the config of a cluster must say whatever its platform (install-generation §2.1 to §2.3, §2.5).

use serde_json::{Map, Value, json};

use super::form::network;
use super::host::{name, of_interface};
use super::input::Input;
use super::platform;

/// The whole config before anything is laid over it, but for authorities.
pub fn expected(input: &Input) -> Value {
    let mut config = Map::from_iter([
        ("apiVersion".to_owned(), json!("v1")),
        ("baseDomain".to_owned(), input.cluster["base_dns_domain"].clone()),
        ("metadata".to_owned(), json!({"name": input.cluster["name"]})),
        ("networking".to_owned(), networking(input)),
        ("compute".to_owned(), json!([pool(input, "worker")])),
        ("controlPlane".to_owned(), control_plane(input)),
        ("platform".to_owned(), platform::expected(input)),
        ("fips".to_owned(), json!(false)),
        ("pullSecret".to_owned(), json!(input.pull_secret)),
        ("sshKey".to_owned(), json!(input.text("ssh_public_key"))),
    ]);
    if input.is_of("proxy") == Some(true) {
        config.insert("proxy".to_owned(), proxy(input));
    }
    if input.is_of("arbiter") == Some(true) {
        config.insert("arbiter".to_owned(), pool(input, "arbiter"));
    }
    if input.is_preview() {
        config.insert("featureSet".to_owned(), json!("TechPreviewNoUpgrade"));
    }
    if input.is_of("single-node") == Some(true) {
        config.insert("bootstrapInPlace".to_owned(), json!({"installationDisk": disk(input)}));
    }
    if !input.mirrors.is_empty() {
        let name = if input.is_before(4, 14) { "imageContentSources" } else { "imageDigestSources" };
        let sources =
            input.mirrors.iter().map(|(source, mirrors)| json!({"source": source, "mirrors": mirrors}));
        config.insert(name.to_owned(), sources.collect());
    }
    Value::Object(config)
}

/// Adds the authorities: what is laid over comes first, then the service's, then those of infra-envs.
pub fn add_trust(config: &mut Value, input: &Input) {
    let first = config["additionalTrustBundle"].as_str().unwrap_or_default().to_owned();
    let own = input.infra_envs.iter().filter_map(|infra_env| infra_env["additional_trust_bundle"].as_str());
    let all = [first.as_str()].into_iter().chain(input.authorities.iter().map(String::as_str)).chain(own);
    let bundle = all.map(str::trim).filter(|bundle| !bundle.is_empty()).collect::<Vec<_>>().join("\n");
    if let Value::Object(members) = config {
        members.remove("additionalTrustBundle");
        if !bundle.is_empty() {
            members.insert("additionalTrustBundle".to_owned(), json!(bundle));
        }
    }
}

/// The nodes of a role.
fn pool(input: &Input, role: &str) -> Value {
    let told = input.text("hyperthreading");
    let enabled = told == "all" || told.split(',').any(|group| group.strip_suffix('s') == Some(role));
    let hyperthreading = if enabled { "Enabled" } else { "Disabled" };
    json!({"name": role, "replicas": input.of_role(role).count(), "hyperthreading": hyperthreading})
}

fn control_plane(input: &Input) -> Value {
    let mut pool = pool(input, "master");
    if input.is_fencing() {
        let credentials: Vec<_> = input.of_role("master").map(fencing).collect();
        pool["fencing"] = json!({"credentials": credentials});
    }
    pool
}

/// How a control plane node is switched off by the other: it is known by its MAC address, or else by its name.
fn fencing(host: &Value) -> Value {
    let given = host["fencing_credentials"].as_str().unwrap_or_default();
    let given: Value = serde_json::from_str(given).unwrap_or_default();
    let mut told =
        json!({"address": given["address"], "username": given["username"], "password": given["password"]});
    match given["mac_address"].as_str() {
        Some(mac) => told["macAddress"] = json!(mac),
        None => told["hostname"] = json!(name(host)),
    }
    if !given["certificate_verification"].is_null() {
        told["certificateVerification"] = given["certificate_verification"].clone();
    }
    told
}

fn disk(input: &Input) -> Value {
    let Some(host) = input.bootstrap() else { return Value::Null };
    let by_id = &host["installation_disk_id"];
    if by_id.as_str().is_some_and(|id| !id.is_empty()) {
        by_id.clone()
    } else {
        host["installation_disk_path"].clone()
    }
}

fn networking(input: &Input) -> Value {
    let pods = input.cluster["cluster_networks"].as_array().into_iter().flatten();
    let pods: Vec<_> =
        pods.map(|network| json!({"cidr": network["cidr"], "hostPrefix": network["host_prefix"]})).collect();
    let services = input.texts("service_networks", "cidr");
    let machines = machine_networks(input);
    let or_null = |list: Value| if list == json!([]) { Value::Null } else { list };
    let mut networking = json!({
        "networkType": network_type(input),
        "clusterNetwork": or_null(json!(pods)),
        "serviceNetwork": or_null(json!(services)),
    });
    if !machines.is_empty() {
        networking["machineNetwork"] = machines.into_iter().map(|cidr| json!({"cidr": cidr})).collect();
    }
    networking
}

/// What comes as the user's manifests has no name here; a single node without a choice has the usual one.
fn network_type(input: &Input) -> &str {
    match input.text("network_type") {
        "None" => "",
        "" if input.is_unmanaged() && input.is_single_node() => "OVNKubernetes",
        kind => kind,
    }
}

/// The cluster's machine networks; where the user provides the networking and names none, those of the bootstrap host.
fn machine_networks(input: &Input) -> Vec<String> {
    if let Some(networks) = &input.node_networks {
        return networks.clone();
    }
    let told = input.texts("machine_networks", "cidr");
    if !told.is_empty() || !input.is_unmanaged() {
        return told;
    }
    let found: Vec<_> =
        input.bootstrap().into_iter().flat_map(addresses).filter_map(|text| network(&text)).collect();
    let families = if input.ipv6_first { [true, false] } else { [false, true] };
    let first = families.into_iter().filter_map(|is_v6| found.iter().find(|net| net.is_v6 == is_v6));
    first.map(|net| net.text()).collect()
}

/// The addresses of a host with their prefixes, but for those that end at the link.
fn addresses(host: &Value) -> Vec<String> {
    let interfaces = host["inventory"]["interfaces"].as_array().into_iter().flatten();
    let all = interfaces.flat_map(of_interface);
    all.filter(|address| !address.to_lowercase().starts_with("fe80:")).collect()
}

/// The proxies that there are. What is inside of the cluster is reached without them, unless the user wants none for anything.
fn proxy(input: &Input) -> Value {
    let mut proxy = Map::new();
    for (name, from) in [("httpProxy", "http_proxy"), ("httpsProxy", "https_proxy")] {
        let url = input.text(from);
        if !url.is_empty() {
            proxy.insert(name.to_owned(), json!(url));
        }
    }
    let given = input.text("no_proxy");
    let without = if given.trim() == "*" {
        given.to_owned()
    } else {
        let mut all: Vec<String> =
            given.split(',').filter(|entry| !entry.is_empty()).map(str::to_owned).collect();
        all.push(format!(".{}.{}", input.text("name"), input.text("base_dns_domain")));
        for networks in ["cluster_networks", "service_networks", "machine_networks"] {
            all.extend(input.texts(networks, "cidr"));
        }
        all.join(",")
    };
    proxy.insert("noProxy".to_owned(), json!(without));
    Value::Object(proxy)
}
