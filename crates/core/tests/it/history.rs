//! Random histories: whatever hosts and users do, in whatever order, the machines settle and leave a way out.

use assisted_core::host::binding::{bind_host, release_host};
use assisted_core::host::disable::{disable_host, enable_host};
use assisted_core::host::update::update_host;
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::host::HostStatus;
use assisted_wire::host_params::HostUpdateParams;
use assisted_wire::step::{StepReply, StepType};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::world::{World, cluster, inventory, key, poor_inventory, resolutions, single_node, time_sources};

const HOSTS: u8 = 3;

#[derive(Clone, Debug)]
enum Act {
    Register,
    Poll,
    Tell(StepType, &'static str),
    LoseMedia,
    Wait(i64),
    Update(&'static str),
    Disable,
    Enable,
    Release,
}

fn output(number: u8, name: &str) -> Value {
    match name {
        "good" => inventory(number),
        "poor" => poor_inventory(number),
        "twin" => inventory(1),
        "time" => time_sources(),
        "names" => resolutions(),
        "alone" => json!({"remote_hosts": []}),
        "vips" => json!([{"vip": "192.168.126.100", "vip_type": "api", "verification": "failed"}]),
        _ => json!("nonsense"),
    }
}

fn acts() -> impl Strategy<Value = (u8, Act)> {
    let tell = select(vec![
        (StepType::Inventory, "good"),
        (StepType::Inventory, "good"),
        (StepType::Inventory, "poor"),
        (StepType::Inventory, "twin"),
        (StepType::Inventory, "nonsense"),
        (StepType::NtpSynchronizer, "time"),
        (StepType::DomainResolution, "names"),
        (StepType::ConnectivityCheck, "alone"),
        (StepType::VerifyVips, "vips"),
    ]);
    let update = select(vec![
        r#"{"host_name": "other"}"#,
        r#"{"host_name": "-"}"#,
        r#"{"host_role": "master"}"#,
        r#"{"host_role": "auto-assign"}"#,
        r#"{"disks_selected_config": []}"#,
    ]);
    let act = prop_oneof![
        2 => Just(Act::Register),
        2 => Just(Act::Poll),
        5 => tell.prop_map(|(step, name)| Act::Tell(step, name)),
        1 => Just(Act::LoseMedia),
        2 => select(vec![1_i64, 60, 181, 400]).prop_map(Act::Wait),
        2 => update.prop_map(Act::Update),
        1 => Just(Act::Disable),
        1 => Just(Act::Enable),
        1 => Just(Act::Release),
    ];
    (1..=HOSTS, act)
}

/// Does it, as far as the machines allow.
fn act(world: &mut World, number: u8, act: &Act) {
    if world.find(number).is_none() && !matches!(act, Act::Register | Act::Wait(_)) {
        return;
    }
    match act {
        Act::Register => drop(world.register(number)),
        Act::Poll => world.poll(number),
        Act::Tell(step, name) => drop(world.tell(number, *step, &output(number, name))),
        Act::LoseMedia => {
            let step_type = Some(StepType::Inventory);
            drop(world.answer(number, &StepReply { step_type, exit_code: 256, ..StepReply::default() }));
        }
        Act::Wait(seconds) => world.wait(*seconds),
        Act::Update(params) => {
            let params: HostUpdateParams = serde_json::from_str(params).unwrap();
            if let Ok(outcome) = update_host(&world.facts, key(number), &params) {
                world.write(outcome.host, None);
            }
        }
        Act::Disable => {
            let place = world.position(number);
            if let Ok(outcome) = disable_host(&world.facts.hosts[place], world.facts.now) {
                world.write(outcome.host, None);
            }
        }
        Act::Enable => enable(world, number),
        // A host that leaves is out of sight of its cluster.
        Act::Release => {
            let place = world.position(number);
            if world.facts.cluster.is_some()
                && release_host(&world.facts.hosts[place], world.facts.now).is_ok()
            {
                world.facts.hosts.remove(place);
            }
        }
    }
}

fn enable(world: &mut World, number: u8) {
    let host = world.find(number).map(|host| enable_host(host, world.facts.now));
    if let Some(Ok(outcome)) = host {
        world.write(outcome.host, None);
    }
}

fn worlds() -> impl Strategy<Value = World> {
    let vips = json!({"api_vips": [{"ip": "192.168.126.100"}], "ingress_vips": [{"ip": "192.168.126.101"}]});
    select(vec![
        World::new(None),
        World::new(Some(cluster(&json!({})))),
        World::new(Some(cluster(&vips))),
        World::new(Some(single_node())),
    ])
}

/// States that a host can be in before an installation.
fn is_reachable(status: HostStatus, bound: bool) -> bool {
    use HostStatus as S;
    match status {
        S::Discovering | S::Known | S::Disconnected | S::Insufficient | S::PendingForInput | S::Disabled => {
            bound
        }
        S::DiscoveringUnbound
        | S::KnownUnbound
        | S::DisconnectedUnbound
        | S::InsufficientUnbound
        | S::DisabledUnbound => !bound,
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// After each step everything settles at once ([`World::look`] looks twice), in a state that is expected, from
    /// which a new boot with a good machine always leads on.
    #[test]
    fn settles_with_a_way_out(world in worlds(), history in prop::collection::vec(acts(), 1..40)) {
        let mut world = world;
        let bound = world.facts.cluster.is_some();
        for (number, step) in &history {
            act(&mut world, *number, step);
            world.look();
            for host in &world.facts.hosts {
                prop_assert!(is_reachable(host.record.host.status, bound), "{}", host.record.host.status);
            }
            if let Some(record) = &world.facts.cluster {
                let status = record.cluster.status;
                prop_assert!(
                    matches!(status, ClusterStatus::Insufficient | ClusterStatus::PendingForInput | ClusterStatus::Ready)
                );
            }
        }
        for number in 1..=HOSTS {
            enable(&mut world, number);
            world.bring(number);
        }
        world.look();
        for host in &world.facts.hosts {
            let status = host.record.host.status;
            prop_assert!(
                !matches!(status, HostStatus::Discovering | HostStatus::DiscoveringUnbound)
                    && !status.as_str().starts_with("disconnected"),
                "stuck in {status}"
            );
        }
    }

    /// The same answer again tells nothing new.
    #[test]
    fn repeating_is_harmless(world in worlds(), history in prop::collection::vec(acts(), 1..20)) {
        let mut world = world;
        for (number, step) in &history {
            act(&mut world, *number, step);
            if let (Act::Tell(..) | Act::LoseMedia | Act::Poll, true) = (step, world.find(*number).is_some()) {
                let before = world.clone();
                act(&mut world, *number, step);
                for (before, after) in before.facts.hosts.iter().zip(&world.facts.hosts) {
                    prop_assert_eq!(&before.record, &after.record);
                    prop_assert_eq!(&before.reports, &after.reports);
                }
                prop_assert_eq!(&before.facts.cluster, &world.facts.cluster);
            }
            world.look();
        }
    }

    /// What different hosts tell at one moment may come in any order.
    #[test]
    fn order_of_independent_answers_does_not_matter(
        world in worlds(),
        first in select(vec![(StepType::Inventory, "good"), (StepType::Inventory, "poor"), (StepType::NtpSynchronizer, "time")]),
        second in select(vec![(StepType::Inventory, "good"), (StepType::DomainResolution, "names"), (StepType::ConnectivityCheck, "alone")]),
    ) {
        let mut world = world;
        for number in 1..=2 {
            drop(world.register(number));
            world.poll(number);
        }
        world.look();
        let (mut a, mut b) = (world.clone(), world);
        a.tell(1, first.0, &output(1, first.1)).unwrap();
        a.tell(2, second.0, &output(2, second.1)).unwrap();
        b.tell(2, second.0, &output(2, second.1)).unwrap();
        b.tell(1, first.0, &output(1, first.1)).unwrap();
        a.look();
        b.look();
        for (a, b) in a.facts.hosts.iter().zip(&b.facts.hosts) {
            prop_assert_eq!(&a.record, &b.record);
            prop_assert_eq!(&a.reports, &b.reports);
        }
        prop_assert_eq!(a.facts.cluster, b.facts.cluster);
    }
}

/// Binding and unbinding at any time leave a host that can register again.
#[test]
fn bound_and_released_hosts_register_again() {
    let record = cluster(&json!({}));
    let mut world = World::new(None);
    world.bring(1);
    world.look();
    let settings = world.facts.settings.clone();
    for _ in 0..3 {
        let host = &world.facts.hosts[0];
        let bound = bind_host(host, &world.infra_env, &record, &settings, world.facts.now).unwrap();
        world.write(bound.host, None);
        world.facts.cluster = Some(record.clone());
        world.bring(1);
        world.look();
        assert_eq!(world.status(1), HostStatus::PendingForInput);
        let released = release_host(&world.facts.hosts[0], world.facts.now).unwrap();
        world.write(released.host, None);
        world.facts.cluster = None;
        world.bring(1);
        world.look();
        assert_eq!(world.status(1), HostStatus::KnownUnbound);
    }
}
