//! What hosts are told to do.

use std::sync::Arc;

use assisted_core::decide::host::steps::{steps, view, views};
use assisted_core::policy::Policy;
use assisted_wire::host::{HostKind, HostStatus};
use assisted_wire::step::{PostStepAction, StepType, Steps};
use serde_json::{Value, json};

use crate::world::{World, cluster, infra_env, inventory, key, single_node};

fn next_steps(world: &World, number: u16) -> Steps {
    steps(&view(&world.facts, key(number)).unwrap(), 0xbeef)
}

fn kinds(steps: &Steps) -> String {
    let steps = steps.instructions.as_ref().unwrap();
    steps.iter().map(|step| step.step_type.unwrap().as_str()).collect::<Vec<_>>().join(" ")
}

fn argument(world: &World, number: u16, step: StepType) -> Value {
    let steps = next_steps(world, number).instructions.unwrap();
    let step = steps.into_iter().find(|each| each.step_type == Some(step)).unwrap();
    serde_json::from_str(&step.args.unwrap()[0]).unwrap()
}

#[test]
fn by_state() {
    use HostStatus as S;
    let bound = cluster(&json!({"api_vips": [{"ip": "192.168.124.3"}]}));
    for (record, kind, status, seconds, action, expected) in [
        (Some(&bound), HostKind::Host, S::Discovering, 60, "continue", "inventory"),
        (Some(&bound), HostKind::Host, S::Disconnected, 120, "continue", "inventory"),
        (
            Some(&bound),
            HostKind::Host,
            S::Known,
            60,
            "continue",
            "connectivity-check free-network-addresses inventory ntp-synchronizer domain-resolution verify-vips",
        ),
        (
            Some(&bound),
            HostKind::Host,
            S::Insufficient,
            60,
            "continue",
            "inventory connectivity-check free-network-addresses ntp-synchronizer domain-resolution verify-vips",
        ),
        (Some(&bound), HostKind::Host, S::Binding, 0, "exit", ""),
        (Some(&bound), HostKind::Host, S::Installed, 60, "continue", ""),
        (Some(&bound), HostKind::Host, S::Disabled, 120, "continue", ""),
        (
            Some(&bound),
            HostKind::AddToExistingClusterHost,
            S::Discovering,
            60,
            "continue",
            "inventory ntp-synchronizer domain-resolution",
        ),
        (
            Some(&bound),
            HostKind::AddToExistingClusterHost,
            S::Known,
            60,
            "continue",
            "connectivity-check inventory ntp-synchronizer domain-resolution",
        ),
        (None, HostKind::Host, S::KnownUnbound, 60, "continue", "inventory ntp-synchronizer"),
        (None, HostKind::AddToExistingClusterHost, S::DisconnectedUnbound, 120, "continue", "inventory"),
        (None, HostKind::Host, S::Unbinding, 0, "exit", ""),
        (None, HostKind::Host, S::DisabledUnbound, 120, "continue", ""),
    ] {
        let mut world = World::new(record.cloned());
        world.bring(1);
        world.bring(2);
        for host in &mut world.facts.hosts {
            host.record.host.kind = kind;
            host.record.host.status = S::Known;
        }
        world.facts.hosts[0].record.host.status = status;
        let told = next_steps(&world, 1);
        assert_eq!(kinds(&told), expected, "{status} {kind}");
        assert_eq!(told.next_instruction_seconds, seconds, "{status}");
        assert_eq!(told.post_step_action.map(PostStepAction::as_str), Some(action), "{status}");
    }
}

#[test]
fn arguments() {
    let mut world = World::new(Some(cluster(&json!({"ocp_release_image": "quay.io:443/o/r@sha256:1"}))));
    world.bring(1);
    world.bring(2);
    world.refresh();
    let steps = next_steps(&world, 1).instructions.unwrap();
    assert_eq!(steps[0].step_id, "inventory-0000beef");
    assert_eq!(steps[0].args, Some(vec![key(1).host_id.to_string()]));
    assert_eq!(argument(&world, 1, StepType::NtpSynchronizer), json!({"ntp_source": "time.example.com"}));
    let domains = argument(&world, 1, StepType::DomainResolution);
    let domains: Vec<_> = domains["domains"]
        .as_array()
        .unwrap()
        .iter()
        .map(|each| each["domain_name"].as_str().unwrap())
        .collect();
    assert_eq!(
        domains,
        [
            "api.c.example.com",
            "api-int.c.example.com",
            "console-openshift-console.apps.c.example.com",
            "validateNoWildcardDNS.c.example.com.",
            "validateNoWildcardDNS.c.example.com",
            "quay.io",
        ]
    );
    assert_eq!(
        argument(&world, 1, StepType::ConnectivityCheck),
        json!([{"host_id": key(2).host_id,
                "nics": [{"name": "eth0", "mac": "52:54:00:00:00:02", "ip_addresses": ["192.168.124.12"]}]}])
    );
    assert_eq!(argument(&world, 1, StepType::FreeNetworkAddresses), json!(["192.168.124.0/22"]));
}

#[test]
fn time_sources() {
    let mut world = World::new(None);
    world.bring(1);
    let asked = |world: &World| argument(world, 1, StepType::NtpSynchronizer)["ntp_source"].clone();
    assert_eq!(asked(&world), "time.example.com");
    let mut other = infra_env(None);
    (other.infra_env.ntp_sources, other.infra_env.additional_ntp_sources) = (String::new(), "a,b".to_owned());
    world.facts.infra_envs.insert(other.infra_env.id, other);
    assert_eq!(asked(&world), "a,b");
    let mut world = World::new(Some(cluster(&json!({"additional_ntp_source": "own"}))));
    world.bring(1);
    world.refresh();
    assert_eq!(asked(&world), "own");
}

#[test]
fn hosts_to_join_an_installed_cluster_look_for_its_ignition() {
    let record = cluster(&json!({
        "kind": "AddHostsCluster", "status": "adding-hosts", "api_vip_dns_name": "api.c.example.com",
    }));
    let mut world = World::new(Some(record));
    world.bring(1);
    world.refresh();
    world.facts.hosts[0].record.ignition_endpoint_token = "token".into();
    let asked = argument(&world, 1, StepType::ApiVipConnectivityCheck);
    assert_eq!(asked["url"], "http://api.c.example.com:22624/config/worker");
    assert_eq!(asked["request_headers"], json!([{"key": "Authorization", "value": "Bearer token"}]));
    let shown = format!("{:?}", view(&world.facts, key(1)).unwrap());
    assert!(!shown.contains("token\""), "{shown}");
}

#[test]
fn settings() {
    let mut world = World::new(Some(single_node()));
    world.bring(1);
    world.refresh();
    let mut policy = Policy::default();
    policy.hosts.disabled_steps = vec!["inventory".to_owned(), "domain-resolution".to_owned()];
    policy.hosts.agent_inventory_max_size = 7;
    world.facts.policy = Arc::new(policy.clone());
    assert!(!kinds(&next_steps(&world, 1)).contains("inventory"));
    policy.hosts.disabled_steps.clear();
    world.facts.policy = Arc::new(policy.clone());
    let steps = next_steps(&world, 1).instructions.unwrap();
    let step = steps.iter().find(|step| step.step_type == Some(StepType::Inventory)).unwrap();
    assert_eq!(step.args.as_ref().unwrap()[1], "--output-max-size=7");

    policy.images.agent = "registry/agent:2".to_owned();
    world.facts.policy = Arc::new(policy.clone());
    let asked = view(&world.facts, key(1)).unwrap();
    assert_eq!(asked.event.as_ref().map(|event| event.name), Some("upgrade_agent_started"));
    let answer = steps_of(&asked);
    assert_eq!(kinds(&answer), "upgrade-agent");
    let step = &answer.instructions.unwrap()[0];
    assert_eq!(
        (step.step_id.as_str(), step.args.as_ref().unwrap()[0].as_str()),
        ("", r#"{"agent_image":"registry/agent:2"}"#)
    );
    policy.images.agent.clear();
    world.facts.policy = Arc::new(policy);
    assert!(view(&world.facts, key(1)).unwrap().event.is_none(), "nothing to replace it with");
}

fn steps_of(view: &assisted_core::decide::host::steps::HostView) -> Steps {
    steps(view, 1)
}

#[test]
fn views_of_all_are_those_of_each() {
    let mut world = World::new(Some(cluster(&json!({}))));
    for number in 1..=3 {
        world.bring(number);
    }
    world.reply(2, StepType::Inventory, &inventory(9)).unwrap();
    world.refresh();
    for each in views(&world.facts) {
        assert_eq!(steps(&each, 5), steps(&view(&world.facts, each.key).unwrap(), 5));
    }
}

/// An agent reads no more of an answer than this.
const LONGEST_ANSWER: usize = 16 << 20;

#[test]
fn a_host_that_reports_all_it_may_leaves_the_answers_to_others_small() {
    let mut world = World::new(Some(cluster(&json!({}))));
    for number in 1..=3 {
        world.bring(number);
    }
    world.refresh();
    // What is quoted in what is quoted gets longer; 8 MiB are kept of a report.
    for text in ["\"".repeat(3_500), "\u{1}".repeat(64)] {
        let mac = if text.len() > 64 { "52:54:00:00:00:02" } else { text.as_str() };
        let interface = |number: u16| {
            let addresses = [1, 2].map(|each| format!("fd00:1111:2222:3333:4444:5555:{number:x}:{each}/64"));
            json!({
                "name": text, "mac_address": mac, "flags": ["up"], "ipv4_addresses": [], "ipv6_addresses": addresses,
            })
        };
        let mut hostile = inventory(2);
        let interfaces = hostile["interfaces"].as_array_mut().unwrap();
        interfaces.extend((0..1023).map(interface));
        assert!(hostile.to_string().len() < 8 << 20);
        world.reply(2, StepType::Inventory, &hostile).unwrap();
        let answer = serde_json::to_vec(&next_steps(&world, 1)).unwrap();
        assert!(answer.len() < LONGEST_ANSWER / 8, "{} bytes beside {:?}", answer.len(), &text[..10]);
        // The others, and what is real of it, are told all the same.
        let told = argument(&world, 1, StepType::ConnectivityCheck);
        let ids: Vec<_> = told.as_array().unwrap().iter().map(|peer| peer["host_id"].clone()).collect();
        assert_eq!(ids, [2, 3].map(|number| json!(key(number).host_id)));
        assert_eq!(told[0]["nics"][0]["name"], "eth0");
    }
}
