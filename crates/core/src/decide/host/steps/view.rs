//! What a poll needs of a host, worked out beforehand.

use std::fmt;
use std::sync::Arc;

use assisted_wire::host::HostStatus;
use assisted_wire::id::HostId;
use assisted_wire::probe_requests::UpgradeAgentRequest;
use assisted_wire::step::{PostStepAction, Step, StepType, Steps};
use assisted_wire::time::DateTime;

use jiff::Timestamp;

use super::interval::{self, Prompt};
use super::{arguments, table};
use crate::model::event::{NewEvent, catalogue};
use crate::model::facts::{Facts, HostFacts};
use crate::model::host::HostKey;
use crate::state::host::check_in;

/// How the hosts of a cluster reach each other: shared by their views, since each differs from the others by one entry.
type Peers = Arc<[(HostId, String)]>;

/// A host as polls see it: cheap to keep, and to answer from.
#[derive(Clone, Debug)]
pub struct HostView {
    pub key: HostKey,
    pub status: HostStatus,
    /// Since when the host has been in its state.
    pub since: DateTime,
    /// Version of the agent as it is stored: a poll that reports another one changes the host.
    pub discovery_agent_version: String,
    /// What is kept of its agent's key: a poll that shows another one is not of that agent.
    pub agent_key: Option<Box<str>>,
    /// Offset of the host's clock as it is stored, seconds.
    pub clock_ahead_seconds: Option<i64>,
    /// Whether a poll brings the host out of its state, so that it must be looked at again.
    pub wakes_on_check_in: bool,
    /// Told with each poll (at a limited rate): the agent is being replaced.
    pub event: Option<NewEvent>,
    seconds: i64,
    /// Polls come sooner than `seconds` for a while.
    prompt: Option<Prompt>,
    then: PostStepAction,
    steps: Vec<PlannedStep>,
}

impl HostView {
    /// Whether something new is expected of the host, so that it polls again soon: see [`prompt_steps`].
    pub fn is_prompt(&self, now: Timestamp) -> bool {
        self.prompt.is_some_and(|prompt| !prompt.is_over(now))
    }
}

#[derive(Clone)]
struct PlannedStep {
    step: StepType,
    arguments: Arguments,
}

#[derive(Clone)]
enum Arguments {
    Ready(Vec<String>),
    Peers(Peers),
}

impl fmt::Debug for PlannedStep {
    // Arguments may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.step.fmt(f)
    }
}

/// The view of one host; `None` when it is not among the facts.
pub fn view(facts: &Facts, key: HostKey) -> Option<HostView> {
    Some(make(facts, facts.host(key).ok()?, &peers(facts)))
}

/// The views of all hosts.
pub fn views(facts: &Facts) -> Vec<HostView> {
    let peers = peers(facts);
    facts.hosts.iter().map(|host| make(facts, host, &peers)).collect()
}

fn peers(facts: &Facts) -> Peers {
    if facts.cluster.is_none() {
        return Peers::default();
    }
    facts.hosts.iter().filter_map(|host| Some((host.record.host.id, arguments::peer(host)?))).collect()
}

fn make(facts: &Facts, host: &HostFacts, peers: &Peers) -> HostView {
    let (fields, plan) = (&host.record.host, table::of(host));
    let policy = &facts.policy;
    // Nobody asks a hub for free addresses (kube-api §2).
    let disabled = |step: StepType| {
        policy.service.kube_api && step == StepType::FreeNetworkAddresses
            || policy.hosts.disabled_steps.iter().any(|name| name == step.as_str())
    };
    let planned = |step: &StepType| {
        let arguments = match step {
            StepType::ConnectivityCheck => {
                let others = peers.iter().any(|(id, _)| *id != fields.id);
                others.then(|| Arguments::Peers(Arc::clone(peers)))?
            }
            step => Arguments::Ready(arguments::of(*step, facts, host)?),
        };
        Some(PlannedStep { step: *step, arguments })
    };
    let mut view = HostView {
        key: host.key(),
        status: fields.status,
        since: fields.status_updated_at,
        discovery_agent_version: fields.discovery_agent_version.clone(),
        agent_key: host.record.agent_key.clone(),
        clock_ahead_seconds: host.record.clock_ahead_seconds,
        wakes_on_check_in: check_in::wakes_on_check_in(host),
        event: None,
        seconds: plan.seconds,
        prompt: interval::prompt(facts, host, plan.seconds),
        then: plan.then,
        steps: plan.steps.iter().filter(|step| !disabled(**step)).filter_map(planned).collect(),
    };
    let images = &facts.policy.images;
    let differs = !images.agent.is_empty() && images.agent != fields.discovery_agent_version;
    if images.enable_upgrade_agent
        && differs
        && table::is_upgradable(host)
        && !disabled(StepType::UpgradeAgent)
    {
        let request = UpgradeAgentRequest { agent_image: images.agent.clone() };
        let argument = serde_json::to_string(&request).unwrap_or_default();
        (view.seconds, view.prompt, view.then) = (60, None, PostStepAction::Continue);
        view.steps =
            vec![PlannedStep { step: StepType::UpgradeAgent, arguments: Arguments::Ready(vec![argument]) }];
        view.event = Some(catalogue::UPGRADE_AGENT_STARTED.of_host(host, &[("agent_image", &images.agent)]));
    }
    view
}

/// Hosts of one cluster that are told to look for each other at the same time: more would flood the network.
const MOST_AT_ONCE: u32 = 150;

/// Whether it is a host's turn to look for the others, as it is for [`MOST_AT_ONCE`] of them in a minute, on average.
fn is_its_turn(peers: &Peers, tag: u32) -> bool {
    u32::try_from(peers.len()).is_ok_and(|count| count <= MOST_AT_ONCE || tag % count < MOST_AT_ONCE)
}

/// The answer to a poll. `tag` is random: it makes the steps' ids, and lets hosts of a large cluster take turns.
pub fn steps(view: &HostView, tag: u32) -> Steps {
    let step = |planned: &PlannedStep| Step {
        step_type: Some(planned.step),
        // The one step without an id (agent-protocol §2.2).
        step_id: match planned.step {
            StepType::UpgradeAgent => String::new(),
            step => format!("{step}-{tag:08x}"),
        },
        args: Some(match &planned.arguments {
            Arguments::Ready(arguments) => arguments.clone(),
            Arguments::Peers(peers) => vec![others(peers, view.key.host_id)],
        }),
    };
    let is_due = |planned: &PlannedStep| match &planned.arguments {
        Arguments::Ready(_) => true,
        Arguments::Peers(peers) => is_its_turn(peers, tag),
    };
    Steps {
        next_instruction_seconds: view.seconds,
        post_step_action: Some(view.then),
        instructions: Some(view.steps.iter().filter(|planned| is_due(planned)).map(step).collect()),
    }
}

/// The answer to a poll of a host that polls again soon, with all steps: it is for the caller to leave out those that were
/// handed out a moment ago ([`super::repeat_after`]).
pub fn prompt_steps(view: &HostView, tag: u32) -> Steps {
    let seconds = view.prompt.map_or(view.seconds, |prompt| prompt.seconds);
    Steps { next_instruction_seconds: seconds, ..steps(view, tag) }
}

/// The list of all peers but the host itself.
fn others(peers: &[(HostId, String)], own: HostId) -> String {
    let entries: Vec<_> = peers.iter().filter(|(id, _)| *id != own).map(|(_, peer)| peer.as_str()).collect();
    format!("[{}]", entries.join(","))
}
