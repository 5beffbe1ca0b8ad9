use assisted_wire::host::HostStage;
use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::action::Effect;
use crate::plan::Shape;
use crate::topology::{Build, Topology};

struct Bench {
    machine: Machine,
    plan: Plan,
    kube: Kube,
    agent: Arc<str>,
    calls_user: bool,
    target: Option<u32>,
    now: Duration,
}

impl Bench {
    fn new(fault_kind: Option<&str>) -> Self {
        let plan = Plan::new(Shape::of(Topology::Compact), 1, 60.0).unwrap();
        let site = Site::new(0, plan.shape.needs().unwrap()).unwrap();
        let fault = fault_kind.map(|fault_kind| fault_kind.parse().unwrap());
        let host = SimHost::at(InfraEnvId::default(), 1, site.host(1), Build::ControlPlane);
        let mut machine = Machine::new(host, fault, Random::new(1));
        let mut out = ActionSink::new(Duration::ZERO, 0);
        machine.switch_on(InfraEnvId::default(), &mut out);
        let now = out.take()[0].0;
        let kube = Kube::new(3);
        Self { machine, plan, kube, agent: "sim".into(), calls_user: false, target: None, now }
    }

    fn apply(
        &mut self,
        act: impl FnOnce(&mut Machine, &mut ClusterContext<'_>, &mut ActionSink),
    ) -> Vec<(Duration, Effect)> {
        let mut out = ActionSink::new(self.now, 1_000_000);
        let mut context = ClusterContext {
            plan: &self.plan,
            site: Site::new(0, self.plan.shape.needs().unwrap()).unwrap(),
            first: 0,
            kube: &mut self.kube,
            agent: &mut self.agent,
            calls_user: &mut self.calls_user,
            target: &mut self.target,
        };
        act(&mut self.machine, &mut context, &mut out);
        out.take()
    }

    fn run_timers(&mut self) -> Vec<(Duration, Effect)> {
        self.apply(Machine::woken)
    }

    fn answer(&mut self, status: u16, body: &Value) -> Vec<(Duration, Effect)> {
        let answer = Response { status, body: Bytes::from(body.to_string()), repeated: false };
        self.apply(|machine, context, out| machine.answered(&answer, context, out))
    }

    /// Registers, and answers the first poll.
    fn polled(&mut self, steps: &Value) -> Vec<(Duration, Effect)> {
        self.run_timers();
        self.answer(201, &json!({}));
        self.answer(200, steps)
    }
}

fn calls(effects: &[(Duration, Effect)]) -> Vec<(Duration, String, Value)> {
    let sent = effects.iter().filter_map(|(delay, effect)| match effect {
        Effect::Send(call) => Some((*delay, call)),
        Effect::Wake(_) => None,
    });
    sent.map(|(delay, call)| {
        let body = serde_json::from_slice(&call.body).unwrap_or(Value::Null);
        (delay, format!("{} {}", call.method, call.path), body)
    })
    .collect()
}

fn steps() -> Value {
    json!({"next_instruction_seconds": 60, "post_step_action": "continue", "instructions": [
        {"step_type": "inventory", "step_id": "inventory-00000001", "args": ["x"]},
        {"step_type": "ntp-synchronizer", "step_id": "ntp-synchronizer-00000001", "args": ["{\"ntp_source\":\"\"}"]},
    ]})
}

#[test]
fn a_hundred_thousand_fit_in_memory() {
    assert!(size_of::<Machine>() <= 256, "{}", size_of::<Machine>());
    assert!(size_of::<Installer>() <= 64, "{}", size_of::<Installer>());
}

#[test]
fn it_registers_polls_and_tells_the_same_once() {
    let mut bench = Bench::new(None);
    let effects = bench.run_timers();
    assert!(
        calls(&effects)[0].1.starts_with("POST") && calls(&effects)[0].1.ends_with("/hosts"),
        "{effects:?}"
    );
    assert!(bench.run_timers().is_empty(), "an old wake-up");
    let effects = bench.answer(201, &json!({}));
    assert!(calls(&effects)[0].1.ends_with("/instructions?timestamp=1000000"), "{effects:?}");
    let told = calls(&bench.answer(200, &steps()));
    assert_eq!(
        told.iter().map(|call| &call.2["step_type"]).collect::<Vec<_>>(),
        ["inventory", "ntp-synchronizer"]
    );
    bench.now += Duration::from_secs(60);
    assert_eq!(calls(&bench.run_timers()).len(), 1);
    assert!(calls(&bench.answer(200, &steps())).is_empty());
    let refused = Response { status: 400, body: Bytes::new(), repeated: false };
    bench.apply(|machine, context, out| machine.reply_answered(StepType::Inventory, &refused, context, out));
    bench.now += Duration::from_secs(60);
    bench.run_timers();
    assert_eq!(calls(&bench.answer(200, &steps()))[0].2["step_type"], "inventory");
}

#[test]
fn it_polls_again_later_and_later_when_the_service_fails() {
    let mut bench = Bench::new(None);
    bench.run_timers();
    bench.answer(201, &json!({}));
    let mut pauses = Vec::new();
    for _ in 0..20 {
        let effects = bench.answer(500, &json!({}));
        pauses.push(effects[0].0);
        bench.now += effects[0].0;
        assert_eq!(calls(&bench.run_timers()).len(), 1);
    }
    assert!(pauses[0] < Duration::from_secs(1) && pauses[19] > Duration::from_secs(40), "{pauses:?}");
    assert!(bench.answer(404, &json!({})).is_empty() && bench.run_timers().is_empty());
}

#[test]
fn replies_go_wrong_when_they_are_to() {
    assert_eq!(calls(&Bench::new(Some("double")).polled(&steps())).len(), 4);
    let late = calls(&Bench::new(Some("delay")).polled(&steps()));
    assert!(late.iter().all(|call| call.0 >= LATENESS));
    let mut bench = Bench::new(Some("wrong-type"));
    assert_ne!(calls(&bench.polled(&steps()))[0].2["step_type"], "inventory");
    bench.now += Duration::from_secs(60);
    bench.run_timers();
    assert_eq!(calls(&bench.answer(200, &steps()))[0].2["step_type"], "inventory");
    let mut bench = Bench::new(Some("clock"));
    bench.run_timers();
    assert!(calls(&bench.answer(201, &json!({})))[0].1.ends_with("timestamp=1003900"));
}

#[test]
fn one_of_a_role_is_struck() {
    let clock = |bench: &mut Bench| {
        bench.run_timers();
        calls(&bench.answer(201, &json!({})))[0].1.rsplit('=').next().unwrap().to_owned()
    };
    let mut first = Bench::new(Some("clock:master"));
    assert_eq!((clock(&mut first), first.target), ("1003900".to_owned(), Some(1)));
    let mut later = Bench { target: Some(0), ..Bench::new(Some("clock:master")) };
    assert_eq!((clock(&mut later), later.target), ("1000000".to_owned(), Some(0)));
    let mut other = Bench::new(Some("clock:worker"));
    assert_eq!((clock(&mut other), other.target), ("1000000".to_owned(), None));
}

#[test]
fn a_master_is_told_from_the_bootstrap_as_soon_as_there_is_one() {
    let prepare = || json!({"instructions": [{"step_type": "installation-disk-speed-check", "step_id": "x", "args": ["{}"]}]});
    for (role, dies) in [(None, false), (Some(HostRole::Master), false), (Some(HostRole::Bootstrap), true)] {
        let mut bench = Bench::new(Some("die@preparing:bootstrap"));
        if let Some(role) = role {
            bench.machine.gets(role);
        }
        bench.polled(&prepare());
        assert_eq!(bench.machine.phase == Phase::Dead, dies, "{role:?}");
    }
}

#[test]
fn it_upgrades_its_agent_and_registers_as_the_new_one() {
    let mut bench = Bench::new(None);
    let told = bench.polled(&json!({"instructions": [
        {"step_type": "upgrade-agent", "args": ["{\"agent_image\":\"quay.io/a/agent:2\"}"]}
    ]}));
    assert_eq!(calls(&told)[0].2["step_id"], Value::Null);
    let done = Response { status: 204, body: Bytes::new(), repeated: false };
    let effects = bench
        .apply(|machine, context, out| machine.reply_answered(StepType::UpgradeAgent, &done, context, out));
    assert_eq!(calls(&effects)[0].2["discovery_agent_version"], "quay.io/a/agent:2");
}

fn install() -> Value {
    let argument = json!({
        "cluster_id": "00000000-0000-0000-0000-000000000009", "infra_env_id": InfraEnvId::default(),
        "host_id": "00000000-0000-0000-0000-000000000001", "role": "master", "boot_device": "/dev/sda",
        "controller_image": "quay.io/a/controller:1", "installer_image": "quay.io/a/installer:1",
        "control_plane_count": 3,
    });
    json!({"instructions": [{"step_type": "install", "step_id": "install-1", "args": [argument.to_string()]}]})
}

/// Lets the installer run to its end.
fn installed(bench: &mut Bench) {
    let mut answer = None;
    for _ in 0..1000 {
        let effects = bench.apply(|machine, context, out| machine.install(answer.as_ref(), context, out));
        let own = effects
            .iter()
            .any(|(_, effect)| matches!(effect, Effect::Send(Call { from: Process::Installer(_), .. })));
        answer = own.then(|| Response { status: 200, body: Bytes::new(), repeated: false });
        bench.now += effects.iter().map(|(delay, _)| *delay).max().unwrap_or_default();
        if bench.machine.phase == Phase::Node || bench.machine.stray_until.is_some() {
            return;
        }
    }
    panic!("it does not end: {:?}", bench.machine);
}

#[test]
fn an_installed_machine_polls_no_more() {
    let mut bench = Bench::new(None);
    assert!(calls(&bench.polled(&install())).is_empty());
    let again = calls(&bench.apply(|machine, context, out| {
        machine.phase = Phase::Polling;
        let answer = Response { status: 200, body: install().to_string().into(), repeated: false };
        machine.answered(&answer, context, out);
    }));
    assert_eq!(again[0].2["exit_code"], 125);
    installed(&mut bench);
    bench.now += Duration::from_secs(600);
    assert!(bench.run_timers().is_empty());
    bench.kube.bootstrap_started(Duration::ZERO);
    assert_eq!(
        bench.kube.seen_by_controller(bench.now + Duration::from_secs(3600)),
        Some((1, HostStage::Joined))
    );
}

#[test]
fn a_wrong_boot_order_brings_the_agent_back_until_it_is_repaired() {
    let mut bench = Bench::new(Some("wrong-boot"));
    bench.polled(&install());
    installed(&mut bench);
    bench.now = bench.machine.stray_until.unwrap() - BOOT_REPAIR;
    assert!(calls(&bench.run_timers())[0].1.ends_with("/hosts"));
    bench.answer(201, &json!({}));
    bench.answer(200, &json!({"next_instruction_seconds": 60}));
    bench.now += BOOT_REPAIR;
    assert!(bench.run_timers().is_empty());
    assert_eq!(bench.machine.phase, Phase::Node);
}
