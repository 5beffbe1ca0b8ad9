//! The steps that look at the network, in networks made for them.

use std::time::{Duration, Instant};

use assisted_agent::{HostSteps, Instruction, Outcome, Steps};
use assisted_hostinfo::Root;
use serde_json::{Value, json};

use crate::netns::Space;

const A: &str = "856f4f9c-3c08-4d97-8ec7-ea0ad7d4cad1";
const B: &str = "856f4f9c-3c08-4d97-8ec7-ea0ad7d4cad2";

/// A host's step, in its namespace.
fn step(space: &Space, step_type: &str, arg: &Value) -> Outcome {
    let instruction =
        Instruction { step_type: step_type.into(), args: vec![arg.to_string()], ..Instruction::default() };
    space.inside(async move || HostSteps::new(Root::live(), None).run(&instruction).await)
}

fn answer(space: &Space, step_type: &str, arg: &Value) -> Value {
    let outcome = step(space, step_type, arg);
    assert_eq!((outcome.exit_code, outcome.error.as_str()), (0, ""), "{}", outcome.output);
    serde_json::from_str(&outcome.output).unwrap()
}

fn remote(id: &str, mac: &str, ips: &[&str]) -> Value {
    json!({"host_id": id, "nics": [{"name": "eth0", "mac": mac, "ip_addresses": ips}]})
}

#[test]
fn neighbours_routes_and_duplicates_are_seen() {
    let (host, switch, peer, double) = (Space::new(), Space::new(), Space::new(), Space::new());
    host.cable("eth0", &switch, "p0");
    peer.cable("eth0", &switch, "p1");
    double.cable("eth0", &switch, "p2");
    switch.switch(&["p0", "p1", "p2"]);
    host.address("eth0", "10.9.0.1/24");
    host.address("eth0", "fd09::1/64");
    peer.address("eth0", "10.9.0.2/24");
    peer.address("eth0", "10.9.0.3/24");
    peer.address("eth0", "fd09::2/64");
    // Somebody else has one of the peer's addresses.
    double.address("eth0", "10.9.0.3/24");
    for ip in ["10.9.0.2", "fd09::2"] {
        host.reaches(ip);
    }
    let (mac, foreign) = (peer.mac("eth0"), double.mac("eth0"));
    let report = answer(
        &host,
        "connectivity-check",
        &json!([
            remote(B, "02:00:00:00:00:99", &["10.9.0.77"]),
            remote(A, &mac, &["10.9.0.2", "10.9.0.3", "fd09::2"])
        ]),
    );
    let hosts = report["remote_hosts"].as_array().unwrap();
    assert_eq!((hosts[0]["host_id"].as_str(), hosts[1]["host_id"].as_str()), (Some(A), Some(B)));

    let l2 = hosts[0]["l2_connectivity"].as_array().unwrap();
    let of = |ip: &str| l2.iter().filter(|entry| entry["remote_ip_address"] == ip).collect::<Vec<_>>();
    assert_eq!(
        of("10.9.0.2"),
        [&json!({"outgoing_nic": "eth0", "outgoing_ip_address": "10.9.0.1", "remote_ip_address": "10.9.0.2",
                 "remote_mac": mac, "successful": true})]
    );
    let mut both: Vec<_> = of("10.9.0.3").iter().map(|entry| entry["remote_mac"].as_str().unwrap()).collect();
    both.sort_unstable();
    let mut expected = [mac.as_str(), foreign.as_str()];
    expected.sort_unstable();
    assert_eq!(both, expected, "the address that two machines have shows both");
    assert!(of("10.9.0.3").iter().all(|entry| (entry["remote_mac"] == mac) == (entry["successful"] == true)));
    assert_eq!(
        of("fd09::2"),
        [
            &json!({"outgoing_nic": "eth0", "remote_ip_address": "fd09::2", "remote_mac": mac, "successful": true})
        ]
    );

    let l3 = hosts[0]["l3_connectivity"].as_array().unwrap();
    assert_eq!(l3.len(), 3);
    assert!(
        l3.iter().all(|entry| entry["successful"] == true && entry["average_rtt_ms"].as_f64() > Some(0.0))
    );
    assert!(l3.iter().all(|entry| entry.get("packet_loss_percentage").is_none()), "{l3:?}");
    assert_eq!(hosts[1]["l2_connectivity"], Value::Null);
    assert_eq!(hosts[1]["l3_connectivity"], json!([{"remote_ip_address": "10.9.0.77"}]));
    assert_eq!(hosts[0]["mtu_report"], Value::Null, "a usual MTU needs no report");
}

#[test]
fn loss_and_latency_are_measured() {
    let (host, middle, peer) = (Space::new(), Space::new(), Space::new());
    host.cable("eth0", &middle, "m0");
    peer.cable("eth0", &middle, "m1");
    host.address("eth0", "10.9.1.1/24");
    peer.address("eth0", "10.9.1.2/24");
    // Three echoes of ten get lost; each way takes 20 ms. There is one before the step that tells that all is up.
    middle.wire(["m0", "m1"], Duration::from_millis(20), |number| matches!(number, 3 | 6 | 9));
    host.reaches("10.9.1.2");
    let report = answer(&host, "connectivity-check", &json!([remote(A, &peer.mac("eth0"), &["10.9.1.2"])]));
    let l3 = &report["remote_hosts"][0]["l3_connectivity"][0];
    assert_eq!((&l3["successful"], &l3["packet_loss_percentage"]), (&json!(true), &json!(30.0)));
    assert!(l3["average_rtt_ms"].as_f64().unwrap() >= 40.0, "{l3}");
}

#[test]
fn a_path_that_is_narrower_than_the_interface_is_told() {
    let (host, switch, wide, narrow) = (Space::new(), Space::new(), Space::new(), Space::new());
    for (space, port) in [(&host, "p0"), (&wide, "p1"), (&narrow, "p2")] {
        space.cable("eth0", &switch, port);
        switch.mtu(port, 9000);
    }
    switch.switch(&["p0", "p1", "p2"]);
    host.mtu("eth0", 9000);
    wide.mtu("eth0", 9000);
    host.address("eth0", "10.9.2.1/24");
    host.address("eth0", "fd09:2::1/64");
    for (space, last) in [(&wide, 2), (&narrow, 3)] {
        space.address("eth0", &format!("10.9.2.{last}/24"));
        space.address("eth0", &format!("fd09:2::{last}/64"));
        host.reaches(&format!("10.9.2.{last}"));
        host.reaches(&format!("fd09:2::{last}"));
    }
    let report = answer(
        &host,
        "connectivity-check",
        &json!([
            remote(A, &wide.mac("eth0"), &["10.9.2.2", "fd09:2::2"]),
            remote(B, &narrow.mac("eth0"), &["10.9.2.3", "fd09:2::3", "10.9.2.99"])
        ]),
    );
    let reports = |at: usize| report["remote_hosts"][at]["mtu_report"].clone();
    let entry = |ip: &str, passed: bool| {
        let mut entry = json!({"outgoing_nic": "eth0", "remote_ip_address": ip});
        if passed {
            entry["mtu_successful"] = json!(true);
        }
        entry
    };
    assert_eq!(reports(0), json!([entry("10.9.2.2", true), entry("fd09:2::2", true)]));
    // Whoever doesn't answer at all has no entry.
    assert_eq!(reports(1), json!([entry("10.9.2.3", false), entry("fd09:2::3", false)]));
}

#[test]
fn a_hundred_peers_are_checked_together() {
    let (host, peers) = (Space::new(), Space::new());
    host.cable("eth0", &peers, "eth0");
    host.address("eth0", "10.9.4.1/22");
    let mac = peers.mac("eth0");
    let id = |number: u32| format!("856f4f9c-3c08-4d97-8ec7-{number:012}");
    let mut hosts = Vec::new();
    for number in 0..100 {
        let ip = format!("10.9.{}.{}", 5 + number / 50, 1 + number % 50);
        peers.address("eth0", &format!("{ip}/22"));
        hosts.push(remote(&id(number), &mac, &[&ip]));
    }
    host.reaches("10.9.5.1");
    let begin = Instant::now();
    let report = answer(&host, "connectivity-check", &Value::Array(hosts));
    eprintln!("100 peers took {:?}", begin.elapsed());
    let hosts = report["remote_hosts"].as_array().unwrap();
    assert_eq!(hosts.len(), 100);
    for host in hosts {
        assert_eq!(host["l2_connectivity"][0]["successful"], true, "{host}");
        let l3 = &host["l3_connectivity"][0];
        assert!(l3["successful"] == true && l3.get("packet_loss_percentage").is_none(), "{host}");
    }
}

#[test]
fn addresses_that_nobody_has_are_free() {
    let (host, router, far) = (Space::new(), Space::new(), Space::new());
    host.cable("eth0", &router, "r0");
    far.cable("eth0", &router, "r1");
    host.address("eth0", "10.9.8.2/28");
    router.address("r0", "10.9.8.1/28");
    router.address("r0", "10.9.8.9/28");
    router.address("r1", "10.9.9.1/30");
    far.address("eth0", "10.9.9.2/30");
    host.ip(&["route", "add", "default", "via", "10.9.8.1"]);
    far.ip(&["route", "add", "default", "via", "10.9.9.1"]);
    router.inside(async || std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap());
    host.reaches("10.9.9.2");
    // One network on the link, one behind the router.
    let found = answer(&host, "free-network-addresses", &json!(["10.9.8.0/28", "10.9.9.0/30"]));
    let near: Vec<_> =
        (0..16).filter(|last| ![1, 2, 9].contains(last)).map(|last| format!("10.9.8.{last}")).collect();
    assert_eq!(
        found,
        json!([
            {"network": "10.9.8.0/28", "free_addresses": near},
            {"network": "10.9.9.0/30", "free_addresses": ["10.9.9.0", "10.9.9.3"]}
        ])
    );
    for bad in [json!(["10.9.8.1/28"]), json!(["x"]), json!(["fd00::/64"]), json!("x")] {
        assert_eq!(step(&host, "free-network-addresses", &bad).exit_code, -1, "{bad}");
    }
}

#[test]
fn virtual_addresses_must_be_nobodys() {
    let (host, router, far) = (Space::new(), Space::new(), Space::new());
    host.cable("eth0", &router, "r0");
    far.cable("eth0", &router, "r1");
    host.address("eth0", "10.9.10.2/24");
    host.address("eth0", "fd09:a::2/64");
    router.address("r0", "10.9.10.1/24");
    router.address("r0", "fd09:a::1/64");
    router.address("r1", "10.9.11.1/24");
    far.address("eth0", "10.9.11.2/24");
    host.ip(&["route", "add", "default", "via", "10.9.10.1"]);
    far.ip(&["route", "add", "default", "via", "10.9.11.1"]);
    router.inside(async || std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap());
    for ip in ["10.9.11.2", "fd09:a::1"] {
        host.reaches(ip);
    }
    let cases = [
        ("10.9.10.100", "succeeded"),
        ("10.9.10.1", "failed"),
        ("10.9.10.2", "failed"),
        ("fd09:a::100", "succeeded"),
        ("fd09:a::1", "failed"),
        ("fd09:a::2", "failed"),
        ("10.9.11.100", "succeeded"),
        ("10.9.11.2", "failed"),
    ];
    let kind = |at: usize| if at.is_multiple_of(2) { "api" } else { "ingress" };
    let vips = cases.iter().enumerate().map(|(at, (vip, _))| json!({"vip": vip, "vip_type": kind(at)}));
    let expected = cases
        .iter()
        .enumerate()
        .map(|(at, (vip, found))| json!({"vip": vip, "vip_type": kind(at), "verification": found}));
    let found = answer(&host, "verify-vips", &vips.collect());
    assert_eq!(found, expected.collect::<Value>());
}

#[test]
fn leases_are_had_from_a_real_server() {
    let (host, server) = (Space::new(), Space::new());
    host.cable("eth0", &server, "eth0");
    server.address("eth0", "10.9.12.1/24");
    host.address("eth0", "10.9.12.2/24");
    host.reaches("10.9.12.1");
    let dir = tempfile::tempdir().unwrap();
    let (log, leases) = (dir.path().join("log"), dir.path().join("leases"));
    let args = [
        "--no-daemon",
        "--conf-file=/dev/null",
        "--port=0",
        "--user=root",
        "--pid-file=",
        "--interface=eth0",
        "--dhcp-authoritative",
        "--dhcp-range=10.9.12.100,10.9.12.120,1h",
        &format!("--dhcp-leasefile={}", leases.display()),
    ];
    let request = |interface: &str, api: &Value, ingress: &Value| {
        json!({"interface": interface, "api_vip_mac": "00:1a:4a:9b:fe:b8", "ingress_vip_mac": "00:1a:4a:13:35:09",
               "api_vip_lease": api, "ingress_vip_lease": ingress})
    };
    let none = json!("");
    let _server = server.daemon("dnsmasq", &args, &log);
    let first = answer(&host, "dhcp-lease-allocate", &request("eth0", &none, &none));
    let (api, ingress) = (&first["api_vip_address"], &first["ingress_vip_address"]);
    assert_ne!(api, ingress);
    for (address, lease, name) in
        [(api, &first["api_vip_lease"], "api"), (ingress, &first["ingress_vip_lease"], "ingress")]
    {
        let (address, lease) = (address.as_str().unwrap(), lease.as_str().unwrap());
        assert!(address.starts_with("10.9.12.1"), "{address}");
        assert!(lease.starts_with("lease {\n") && lease.ends_with("\n}"), "{lease}");
        for part in [
            format!("  interface \"{name}\";\n"),
            format!("  fixed-address {address};\n"),
            "  option dhcp-server-identifier 10.9.12.1;\n".to_owned(),
        ] {
            assert!(lease.contains(&part), "{lease}");
        }
    }
    let log_of = || std::fs::read_to_string(&log).unwrap();
    let discovered = log_of().matches("DHCPDISCOVER").count();
    assert!(discovered >= 2, "{}", log_of());

    // What was leased before is confirmed, not looked for.
    let again = answer(
        &host,
        "dhcp-lease-allocate",
        &request("eth0", &first["api_vip_lease"], &first["ingress_vip_lease"]),
    );
    assert_eq!((&again["api_vip_address"], &again["ingress_vip_address"]), (api, ingress));
    assert_eq!(log_of().matches("DHCPDISCOVER").count(), discovered, "{}", log_of());

    let refused =
        |interface: &str| step(&host, "dhcp-lease-allocate", &request(interface, &none, &none)).error;
    assert_eq!(refused("an-interface-of-no-kernel"), "numerical result out of range");
    assert_eq!(refused("eth9"), "Link not found");
    // No link is left behind.
    let links = host.inside(async || assisted_hostinfo::nic::Nic::list(&Root::live()));
    assert!(links.iter().all(|link| link.kind != "macvlan"), "{links:?}");
}

#[test]
fn without_a_server_there_is_no_lease() {
    use assisted_hostinfo::nic::Nic;
    use assisted_hostinfo::probe::{DhcpAsk, DhcpError, dhcp};

    let (host, other) = (Space::new(), Space::new());
    host.cable("eth0", &other, "eth0");
    let ended = host.inside(async || {
        let nics = Nic::list(&Root::live());
        let parent = nics.iter().find(|nic| nic.name == "eth0").unwrap();
        let mac = "00:1a:4a:00:00:01".parse().unwrap();
        let limit = Duration::from_millis(1_500);
        dhcp(DhcpAsk { parent, name: "api", mac, host_name: "x", known: None, limit }).await
    });
    assert!(matches!(ended, Err(DhcpError::Timeout { .. })), "{ended:?}");
}
