//! What can happen to a cluster, and to a host.

use assisted_wire::cluster::{FinalizingStage, LogsState};
use assisted_wire::host::HostStage;
use assisted_wire::operator::OperatorStatus;
use assisted_wire::step::StepType;
use proptest::prelude::*;
use proptest::sample::select;

/// Most hosts of a history.
pub const MOST: u16 = 6;

#[derive(Clone, Debug)]
pub enum Act {
    /// Whoever is not ready is made ready, as far as that goes before an installation.
    Heal,
    Install,
    ReadPayload,
    Generate(bool),
    /// All that an installation waits for before it begins is done.
    Prepare,
    Cancel,
    Reset,
    Finalizing(FinalizingStage),
    Operator(OperatorStatus),
    Kubeconfig,
    /// All that an installation waits for before it ends is done.
    Settle,
    Logs(LogsState),
    UploadLogs,
    Transform,
    /// A user changes the cluster.
    Change(&'static str),
    /// Time goes by; hosts that are not silent poll.
    Wait(i64),
    Host(u16, HostAct),
}

#[derive(Clone, Debug)]
pub enum HostAct {
    Register,
    Poll,
    /// It boots, and tells all it is asked for.
    Bring,
    /// It answers a step.
    Tell(StepType, Answer),
    /// It could not do a step.
    Fail(StepType, i64),
    /// It reaches the stage after the one that it is in.
    Next,
    Reach(HostStage),
    /// It goes on in its stage.
    Word(&'static str),
    GoSilent,
    Update(&'static str),
    Disable,
    Enable,
    /// A user installs it into, or resets it in, a cluster that runs already.
    Install,
    Reset,
    Repeat(&'static str),
    Logs(LogsState),
    UploadLogs,
    Bind,
    Release,
    Reclaim,
    Remove,
}

/// What a host answers.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    Good,
    Bad,
    /// What another host would answer.
    Anothers,
    Nonsense,
}

impl Act {
    /// Whether it does no more when it comes twice.
    pub fn may_come_twice(&self) -> bool {
        use HostAct as H;
        match self {
            Self::ReadPayload
            | Self::Generate(_)
            | Self::Finalizing(_)
            | Self::Operator(_)
            | Self::Kubeconfig
            | Self::Logs(_)
            | Self::UploadLogs
            | Self::Change(_) => true,
            Self::Host(_, act) => matches!(
                act,
                H::Poll | H::Tell(..) | H::Fail(..) | H::Reach(_) | H::Word(_) | H::Logs(_) | H::UploadLogs
            ),
            _ => false,
        }
    }

    /// Whether two are of different hosts, so that it does not matter which comes first.
    pub fn is_independent_of(&self, other: &Self) -> bool {
        use HostAct as H;
        // Of the addresses of a cluster the last host to answer is believed.
        let alone = |act: &H| match act {
            H::Tell(step, _) => !matches!(step, StepType::VerifyVips | StepType::DhcpLeaseAllocate),
            H::Poll | H::Fail(..) | H::Reach(_) | H::Word(_) | H::Logs(_) | H::Update(_) => true,
            _ => false,
        };
        match (self, other) {
            (Self::Host(one, a), Self::Host(another, b)) => one != another && alone(a) && alone(b),
            _ => false,
        }
    }
}

fn of_hosts() -> impl Strategy<Value = HostAct> {
    let steps = StepType::ALL.to_vec();
    let answers =
        vec![Answer::Good, Answer::Good, Answer::Good, Answer::Bad, Answer::Anothers, Answer::Nonsense];
    let updates = vec![
        r#"{"host_name": "other"}"#,
        r#"{"host_name": "-"}"#,
        r#"{"host_role": "master"}"#,
        r#"{"host_role": "worker"}"#,
        r#"{"host_role": "auto-assign"}"#,
        r#"{"disks_selected_config": []}"#,
        r#"{"ignition_endpoint_token": "s3cr3t"}"#,
    ];
    let checks = vec!["sufficient-installation-disk-speed", "container-images-available", "connected"];
    prop_oneof![
        3 => Just(HostAct::Register),
        2 => Just(HostAct::Poll),
        3 => Just(HostAct::Bring),
        8 => (select(steps.clone()), select(answers)).prop_map(|(step, answer)| HostAct::Tell(step, answer)),
        1 => (select(steps), select(vec![-1_i64, 1, 125, 256])).prop_map(|(step, code)| HostAct::Fail(step, code)),
        24 => Just(HostAct::Next),
        2 => select(HostStage::ALL.to_vec()).prop_map(HostAct::Reach),
        1 => select(vec!["", "17%", "99%"]).prop_map(HostAct::Word),
        1 => Just(HostAct::GoSilent),
        1 => select(updates).prop_map(HostAct::Update),
        1 => Just(HostAct::Disable),
        1 => Just(HostAct::Enable),
        2 => Just(HostAct::Install),
        1 => Just(HostAct::Reset),
        1 => select(checks).prop_map(HostAct::Repeat),
        1 => select(LogsState::ALL.to_vec()).prop_map(HostAct::Logs),
        1 => Just(HostAct::UploadLogs),
        2 => Just(HostAct::Bind),
        1 => Just(HostAct::Release),
        1 => Just(HostAct::Reclaim),
        1 => Just(HostAct::Remove),
    ]
}

pub fn acts() -> impl Strategy<Value = Act> {
    let changes = vec![
        r#"{"api_vips": [], "ingress_vips": []}"#,
        r#"{"name": "renamed"}"#,
        r#"{"base_dns_domain": ""}"#,
        r#"{"additional_ntp_source": "time.example.com"}"#,
    ];
    prop_oneof![
        2 => Just(Act::Heal),
        4 => Just(Act::Install),
        1 => Just(Act::ReadPayload),
        2 => any::<bool>().prop_map(Act::Generate),
        5 => Just(Act::Prepare),
        1 => Just(Act::Cancel),
        1 => Just(Act::Reset),
        2 => select(FinalizingStage::ALL.to_vec()).prop_map(Act::Finalizing),
        2 => select(OperatorStatus::ALL.to_vec()).prop_map(Act::Operator),
        1 => Just(Act::Kubeconfig),
        2 => Just(Act::Settle),
        1 => select(LogsState::ALL.to_vec()).prop_map(Act::Logs),
        1 => Just(Act::UploadLogs),
        1 => Just(Act::Transform),
        1 => select(changes).prop_map(Act::Change),
        4 => select(vec![1_i64, 61, 181, 700, 1300, 2500, 4000, 90_000]).prop_map(Act::Wait),
        60 => (1..=MOST, of_hosts()).prop_map(|(number, act)| Act::Host(number, act)),
    ]
}
