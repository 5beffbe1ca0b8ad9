//! Whoever wants a cluster: creates it, sets up what its hosts can't know, has it installed, and looks how it goes.

use std::collections::BTreeMap;
use std::time::Duration;

use assisted_wire::cluster::{ClusterProgressInfo, ClusterStatus};
use assisted_wire::host::{HostRole, HostStage, HostStatus};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::operation::BASE_PATH;
use hyper::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::fault::{Fault, Mishap, Moment, Victim};
use crate::host;
use crate::network::{Network, networks};
use crate::outbox::{Alarm, Answer, Call, Outbox, Process, patience};
use crate::plan::{Goal, Plan};
use crate::topology::Build;
use crate::world::Site;

/// How often an installation is asked for, if the service refuses.
const ATTEMPTS: u8 = 5;
/// An operator that asks nothing of the hosts.
const OLM_OPERATOR: &str = "lso";

/// A cluster as the service showed it last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Look {
    pub status: Option<ClusterStatus>,
    pub status_info: String,
    /// 0–100.
    pub percentage: i64,
    /// Hosts by status.
    pub hosts: BTreeMap<HostStatus, u32>,
    /// Hosts that are being installed, by stage.
    pub stages: BTreeMap<HostStage, u32>,
}

#[derive(Deserialize)]
struct Seen {
    status: ClusterStatus,
    #[serde(default)]
    status_info: String,
    #[serde(default)]
    progress: Option<ClusterProgressInfo>,
    #[serde(default)]
    hosts: Option<Vec<SeenHost>>,
}

#[derive(Deserialize)]
struct SeenHost {
    id: HostId,
    status: HostStatus,
    #[serde(default)]
    role: Option<HostRole>,
    #[serde(default)]
    bootstrap: bool,
    #[serde(default)]
    progress: Option<SeenProgress>,
}

impl SeenHost {
    fn role(&self) -> Option<HostRole> {
        if self.bootstrap { Some(HostRole::Bootstrap) } else { self.role }
    }

    fn stage(&self) -> Option<HostStage> {
        self.progress.as_ref()?.current_stage
    }
}

#[derive(Deserialize)]
struct SeenProgress {
    #[serde(default)]
    current_stage: Option<HostStage>,
}

impl From<Seen> for Look {
    fn from(seen: Seen) -> Self {
        let (mut hosts, mut stages) = (BTreeMap::new(), BTreeMap::new());
        for host in seen.hosts.into_iter().flatten() {
            *hosts.entry(host.status).or_default() += 1;
            if let Some(stage) = host.stage() {
                *stages.entry(stage).or_default() += 1;
            }
        }
        Self {
            status: Some(seen.status),
            status_info: seen.status_info,
            percentage: seen.progress.map_or(0, |progress| progress.total_percentage),
            hosts,
            stages,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    CreatesCluster,
    CreatesInfraEnv,
    Looks,
    /// Sets up the host at a place.
    SetsHost(u32),
    SetsNetwork,
    Installs,
    Cancels,
    Resets,
    /// Opens the installed cluster for more hosts.
    Opens,
    /// Has the added host at a place installed.
    InstallsHost(u32),
    Ended,
}

/// What the answer that an owner got means for the machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    None,
    /// The machines can be switched on.
    InfraEnv(InfraEnvId),
    /// The cluster is being installed; the roles that its hosts have in it.
    Installing(Vec<(HostId, HostRole)>),
    /// The machines must boot the discovery image again.
    Reset(InfraEnvId),
    /// The machines that are added can be switched on.
    Open(InfraEnvId),
}

/// The owner of one cluster.
#[derive(Debug)]
pub struct Owner {
    index: u32,
    phase: Phase,
    pub cluster_id: Option<ClusterId>,
    pub infra_env_id: Option<InfraEnvId>,
    pub look: Look,
    /// Since when nothing has changed.
    quiet_since: Duration,
    hosts_set: bool,
    network_set: bool,
    installing: bool,
    attempts: u8,
    /// Hosts are being added: how many were set up and sent to be installed.
    added: Option<u32>,
    /// Cancels or resets the installation at the next look.
    interferes: bool,
    has_interfered: bool,
    alarm: Alarm,
    /// Why it ended without the service's doing.
    pub trouble: Option<String>,
    /// When it ended.
    pub ended_at: Option<Duration>,
}

/// What an owner knows besides what the service tells.
pub struct Around<'a> {
    pub plan: &'a Plan,
    pub site: Site,
}

impl Around<'_> {
    /// The owner's own fault.
    fn fault(&self, index: u32) -> Option<Fault> {
        let mut faults = self.plan.strikes(index);
        faults.find(|fault| matches!(fault.mishap, Mishap::Cancel | Mishap::Reset))
    }

    fn strikes(&self, index: u32, mishap: Mishap) -> bool {
        self.plan.strikes(index).any(|fault| fault.mishap == mishap)
    }
}

impl Owner {
    /// The owner of the cluster number `index`.
    pub fn new(index: u32) -> Self {
        Self {
            index,
            phase: Phase::CreatesCluster,
            cluster_id: None,
            infra_env_id: None,
            look: Look::default(),
            quiet_since: Duration::ZERO,
            hosts_set: false,
            network_set: false,
            installing: false,
            attempts: 0,
            added: None,
            interferes: false,
            has_interfered: false,
            alarm: Alarm::default(),
            trouble: None,
            ended_at: None,
        }
    }

    fn process(&self) -> Process {
        Process::Owner(self.index)
    }

    /// Begins: with a cluster that exists, or by creating one.
    pub fn start(&mut self, around: &Around<'_>, out: &mut Outbox) -> News {
        match around.plan.existing {
            Some((cluster_id, infra_env_id)) => {
                (self.cluster_id, self.infra_env_id) = (Some(cluster_id), Some(infra_env_id));
                self.look_later(around, out);
                News::InfraEnv(infra_env_id)
            }
            None => {
                let plan = around.plan;
                let mut body = json!({
                    "name": plan.cluster_name(self.index), "openshift_version": plan.version,
                    "base_dns_domain": "example.com", "pull_secret": plan.pull_secret,
                });
                merge(&mut body, plan.shape.topology.cluster_fields());
                merge(&mut body, plan.shape.network.cluster_fields(around.site));
                merge(&mut body, plan.shape.platform.cluster_fields());
                if around.strikes(self.index, Mishap::OlmOperator) {
                    merge(&mut body, json!({"olm_operators": [{"name": OLM_OPERATOR}]}));
                }
                let path = format!("{BASE_PATH}/v2/clusters");
                out.send(Call::json(self.process(), Method::POST, path, &body));
                News::None
            }
        }
    }

    fn look_later(&mut self, around: &Around<'_>, out: &mut Outbox) {
        self.phase = Phase::Looks;
        let pause = patience(around.plan.look, out.now.saturating_sub(self.quiet_since));
        self.alarm.set(pause, self.process(), out);
    }

    /// Its time has come.
    pub fn woken(&mut self, out: &mut Outbox) {
        if self.alarm.rings(out.now) && self.phase == Phase::Looks {
            self.send(Method::GET, "", &Value::Null, out);
        }
    }

    /// The moment has come to cancel or reset the installation.
    pub fn called(&mut self, out: &mut Outbox) {
        self.interferes = !self.has_interfered;
        // Otherwise an answer is awaited, after which it looks soon.
        if self.alarm.is_set() {
            self.alarm.set(Duration::ZERO, self.process(), out);
        }
    }

    /// Asks something of the cluster.
    fn send(&self, method: Method, what: &str, body: &Value, out: &mut Outbox) {
        let Some(id) = self.cluster_id else { return };
        let path = format!("{BASE_PATH}/v2/clusters/{id}{what}");
        out.send(match method {
            Method::GET => Call::get(self.process(), path),
            method => Call::json(self.process(), method, path, body),
        });
    }

    /// Whether it looks no more.
    pub fn has_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    fn end(&mut self, trouble: Option<String>, out: &Outbox) {
        self.phase = Phase::Ended;
        self.trouble = trouble;
        self.ended_at = Some(out.now);
    }

    /// The service has answered.
    pub fn answered(&mut self, answer: &Answer, around: &Around<'_>, out: &mut Outbox) -> News {
        match self.phase {
            Phase::CreatesCluster => match id(answer) {
                Ok(id) => {
                    self.cluster_id = Some(ClusterId(id));
                    self.phase = Phase::CreatesInfraEnv;
                    let plan = around.plan;
                    let mut body = json!({
                        "name": plan.cluster_name(self.index), "openshift_version": plan.version,
                        "pull_secret": plan.pull_secret, "cluster_id": id,
                    });
                    merge(&mut body, plan.shape.platform.infra_env_fields());
                    out.send(Call::json(
                        self.process(),
                        Method::POST,
                        format!("{BASE_PATH}/v2/infra-envs"),
                        &body,
                    ));
                }
                Err(trouble) => self.end(Some(format!("no cluster: {trouble}")), out),
            },
            Phase::CreatesInfraEnv => match id(answer) {
                Ok(id) => {
                    self.infra_env_id = Some(InfraEnvId(id));
                    self.look_later(around, out);
                    return News::InfraEnv(InfraEnvId(id));
                }
                Err(trouble) => self.end(Some(format!("no infra-env: {trouble}")), out),
            },
            Phase::Looks => {
                self.seen(answer, around, out);
                use ClusterStatus::{Installing, PreparingForInstallation};
                let begun = matches!(self.look.status, Some(PreparingForInstallation | Installing));
                // The answer was lost, and who asks once more is refused: it has begun all the same.
                if begun && !self.installing && self.attempts > 0 {
                    self.installing = true;
                    return News::Installing(roles(answer));
                }
            }
            Phase::SetsHost(place) => {
                if !answer.is_success() {
                    self.end(Some(format!("a host can't be set up: {}", reason(answer))), out);
                } else if self.added.is_some() {
                    self.install_host(place, around, out);
                } else if !self.set_host(place + 1, around, out) {
                    self.look_later(around, out);
                }
            }
            Phase::SetsNetwork => {
                if answer.is_success() {
                    self.look_later(around, out);
                } else {
                    self.end(Some(format!("the network can't be set up: {}", reason(answer))), out);
                }
            }
            Phase::Installs => {
                self.installing = answer.is_success();
                if self.installing {
                    self.look_later(around, out);
                    return News::Installing(roles(answer));
                }
                self.attempts += 1;
                if self.attempts >= ATTEMPTS || answer.status == 501 {
                    self.end(Some(format!("the installation is refused: {}", reason(answer))), out);
                } else {
                    self.look_later(around, out);
                }
            }
            Phase::Cancels if answer.is_success() => self.look_later(around, out),
            Phase::Cancels => self.end(Some(format!("it can't be cancelled: {}", reason(answer))), out),
            Phase::Resets if answer.is_success() => {
                // Everything is as before the installation, but for what the owner has set up.
                (self.installing, self.attempts) = (false, 0);
                self.look_later(around, out);
                return self.infra_env_id.map_or(News::None, News::Reset);
            }
            Phase::Resets => self.end(Some(format!("it can't be reset: {}", reason(answer))), out),
            Phase::Opens if answer.is_success() => {
                self.added = Some(0);
                self.look_later(around, out);
                return self.infra_env_id.map_or(News::None, News::Open);
            }
            Phase::Opens => self.end(Some(format!("no host can be added: {}", reason(answer))), out),
            Phase::InstallsHost(place) => {
                if answer.is_success() {
                    self.added = Some(place + 1 - around.plan.shape.hosts);
                    self.look_later(around, out);
                } else {
                    self.end(Some(format!("a host can't be added: {}", reason(answer))), out);
                }
            }
            Phase::Ended => {}
        }
        News::None
    }

    fn seen(&mut self, answer: &Answer, around: &Around<'_>, out: &mut Outbox) {
        if answer.status == 404 {
            return self.end(Some("the cluster was deleted".to_owned()), out);
        }
        let Ok(seen) = serde_json::from_slice::<Seen>(&answer.body) else {
            return self.look_later(around, out);
        };
        let interferes = self.is_to_interfere(around, &seen);
        let look = Look::from(seen);
        if look != self.look {
            self.look = look;
            self.quiet_since = out.now;
        }
        let Some(status) = self.look.status else { return };
        let hosts = self.look.hosts.values().sum::<u32>();
        let known = |state| self.look.hosts.get(&state).copied().unwrap_or_default();
        let judged = hosts >= around.plan.shape.hosts && known(HostStatus::Discovering) == 0;
        let all_known = known(HostStatus::Known) == hosts;
        let quiet = out.now.saturating_sub(self.quiet_since) > around.plan.settle;
        if self.installing && interferes {
            return self.interfere(around, out);
        }
        let grows = around.plan.shape.hosts < around.plan.all_hosts();
        match status {
            ClusterStatus::Installed if grows && !around.plan.hosts_only => {
                self.phase = Phase::Opens;
                self.send(Method::POST, "/actions/allow-add-hosts", &json!({}), out);
            }
            ClusterStatus::AddingHosts => self.add(around, quiet, out),
            ClusterStatus::Installed | ClusterStatus::Error | ClusterStatus::Cancelled => self.end(None, out),
            // The preparation has failed.
            ClusterStatus::Ready | ClusterStatus::Insufficient if self.installing => self.end(None, out),
            ClusterStatus::Ready
                if around.plan.hosts_only && all_known && around.plan.goal == Goal::Ready =>
            {
                self.end(None, out);
            }
            ClusterStatus::Ready | ClusterStatus::Insufficient | ClusterStatus::PendingForInput
                if judged && !around.plan.hosts_only =>
            {
                if !self.hosts_set {
                    self.hosts_set = true;
                    if self.set_host(0, around, out) {
                        return;
                    }
                }
                if status == ClusterStatus::PendingForInput && !self.network_set {
                    return self.set_network(around, out);
                }
                if status == ClusterStatus::Ready && all_known {
                    match around.plan.goal {
                        Goal::Ready => return self.end(None, out),
                        Goal::Installed => return self.install(out),
                    }
                }
                if quiet {
                    return self.end(None, out);
                }
                self.look_later(around, out);
            }
            _ => self.look_later(around, out),
        }
    }

    /// Whether it is time to cancel or reset the installation, as far as the cluster shows it.
    fn is_to_interfere(&self, around: &Around<'_>, seen: &Seen) -> bool {
        let Some(Fault { moment, victim, .. }) = around.fault(self.index) else { return false };
        let waited_for = |host: &SeenHost| match victim {
            Victim::Role(role) => host.role() == Some(role),
            Victim::Drawn | Victim::Place(_) => true,
        };
        let comes = match moment {
            Moment::Discovery => false,
            Moment::Preparing => seen.status == ClusterStatus::PreparingForInstallation,
            Moment::Stage(stage) => {
                let mut hosts = seen.hosts.iter().flatten().filter(|host| waited_for(host));
                hosts.any(|host| host.stage() == Some(stage))
            }
            Moment::Finalizing => seen.status == ClusterStatus::Finalizing,
        };
        !self.has_interfered && (comes || self.interferes)
    }

    fn interfere(&mut self, around: &Around<'_>, out: &mut Outbox) {
        self.has_interfered = true;
        let resets = around.fault(self.index).is_some_and(|fault| fault.mishap == Mishap::Reset);
        let what = if resets { "/actions/reset" } else { "/actions/cancel" };
        self.phase = if resets { Phase::Resets } else { Phase::Cancels };
        self.send(Method::POST, what, &json!({}), out);
    }

    /// Has one added host after the other installed, as soon as all of them can be.
    fn add(&mut self, around: &Around<'_>, quiet: bool, out: &mut Outbox) {
        let wanted = around.plan.all_hosts() - around.plan.shape.hosts;
        let known = |state| self.look.hosts.get(&state).copied().unwrap_or_default();
        let started = self.added.unwrap_or_default();
        if started < wanted && known(HostStatus::Known) + started >= wanted {
            let place = around.plan.shape.hosts + started;
            match around.plan.shape.build(place) {
                Build::ControlPlane => self.patch_host(place, around, &json!({"host_role": "master"}), out),
                Build::Worker | Build::Arbiter => self.install_host(place, around, out),
            }
        } else if known(HostStatus::AddedToExistingCluster) >= wanted || quiet {
            self.end(None, out);
        } else {
            self.look_later(around, out);
        }
    }

    fn host_path(&self, place: u32, around: &Around<'_>) -> String {
        let infra_env = self.infra_env_id.unwrap_or_default();
        host::path(infra_env, around.plan.first_host(self.index) + place)
    }

    fn patch_host(&mut self, place: u32, around: &Around<'_>, fields: &Value, out: &mut Outbox) {
        self.phase = Phase::SetsHost(place);
        out.send(Call::json(self.process(), Method::PATCH, self.host_path(place, around), fields));
    }

    fn install_host(&mut self, place: u32, around: &Around<'_>, out: &mut Outbox) {
        self.phase = Phase::InstallsHost(place);
        let path = self.host_path(place, around) + "/actions/install";
        out.send(Call::json(self.process(), Method::POST, path, &json!({})));
    }

    /// Sets up the next host that needs it, from a place on; false if none does.
    fn set_host(&mut self, from: u32, around: &Around<'_>, out: &mut Outbox) -> bool {
        let shape = around.plan.shape;
        let needed = (from..shape.hosts).map(|place| (place, shape.topology.host_fields(place, shape.hosts)));
        let Some((place, fields)) = needed.into_iter().find(|(_, fields)| *fields != json!({})) else {
            return false;
        };
        self.patch_host(place, around, &fields, out);
        true
    }

    fn set_network(&mut self, around: &Around<'_>, out: &mut Outbox) {
        self.network_set = true;
        self.phase = Phase::SetsNetwork;
        let site = around.site;
        let ips = |address| site.both(address).map(|ip| json!({ "ip": ip })).collect::<Value>();
        let chosen = around.plan.shape.has_vips() && around.plan.shape.network != Network::DhcpVips;
        let body = match chosen {
            true => json!({"api_vips": ips(site.api()), "ingress_vips": ips(site.ingress())}),
            false => json!({"machine_networks": networks(site)}),
        };
        self.send(Method::PATCH, "", &body, out);
    }

    fn install(&mut self, out: &mut Outbox) {
        self.phase = Phase::Installs;
        self.send(Method::POST, "/actions/install", &json!({}), out);
    }
}

/// The roles of the hosts of the cluster in an answer.
fn roles(answer: &Answer) -> Vec<(HostId, HostRole)> {
    let seen = serde_json::from_slice::<Seen>(&answer.body).ok();
    let hosts = seen.into_iter().flat_map(|seen| seen.hosts.unwrap_or_default());
    hosts.filter_map(|host| Some((host.id, host.role()?))).collect()
}

fn merge(into: &mut Value, fields: Value) {
    if let (Value::Object(into), Value::Object(fields)) = (into, fields) {
        into.extend(fields);
    }
}

/// The id of what was created.
fn id(answer: &Answer) -> Result<uuid::Uuid, String> {
    #[derive(Deserialize)]
    struct Created {
        id: uuid::Uuid,
    }
    if !answer.is_success() {
        return Err(reason(answer));
    }
    serde_json::from_slice::<Created>(&answer.body)
        .map(|created| created.id)
        .map_err(|error| error.to_string())
}

/// Why the service refused.
pub fn reason(answer: &Answer) -> String {
    #[derive(Deserialize)]
    struct Refusal {
        #[serde(default)]
        reason: String,
        #[serde(default)]
        message: String,
    }
    let Refusal { reason, message } = serde_json::from_slice(&answer.body)
        .unwrap_or(Refusal { reason: String::new(), message: String::new() });
    let said = if reason.is_empty() { message } else { reason };
    format!("{}: {said}", answer.status).trim_end_matches([':', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbox::Deed;
    use crate::plan::Shape;
    use crate::topology::Topology;

    struct Bench {
        owner: Owner,
        plan: Plan,
        now: Duration,
    }

    impl Bench {
        fn new(topology: Topology) -> Self {
            Self::of(Shape::of(topology))
        }

        fn of(shape: Shape) -> Self {
            let plan = Plan::new(shape, 1, 60.0).unwrap();
            Self { owner: Owner::new(0), plan, now: Duration::ZERO }
        }

        /// What the owner sends next, when it gets an answer, or when it is woken.
        fn next(&mut self, answer: Option<(u16, Value)>) -> Option<(String, Value)> {
            let mut out = Outbox::new(self.now, 0);
            let site = Site::new(0, self.plan.shape.needs().unwrap()).unwrap();
            let around = Around { plan: &self.plan, site };
            match answer {
                Some((status, body)) => {
                    let answer = Answer { status, body: body.to_string().into() };
                    self.owner.answered(&answer, &around, &mut out);
                }
                None if self.owner.cluster_id.is_none() => {
                    self.owner.start(&around, &mut out);
                }
                None => self.owner.woken(&mut out),
            }
            match out.take().pop()? {
                (_, Deed::Send(call)) => {
                    let body = serde_json::from_slice(&call.body).unwrap_or_default();
                    Some((format!("{} {}", call.method, call.path.trim_start_matches(BASE_PATH)), body))
                }
                (pause, Deed::Wake(_)) => {
                    self.now += pause;
                    self.next(None)
                }
            }
        }

        fn created(topology: Topology) -> Self {
            Self::new(topology).create()
        }

        fn create(self) -> Self {
            let mut bench = self;
            assert_eq!(bench.next(None).unwrap().0, "POST /v2/clusters");
            let id = json!({"id": ClusterId::default()});
            assert_eq!(bench.next(Some((201, id.clone()))).unwrap().0, "POST /v2/infra-envs");
            assert!(bench.next(Some((201, id))).unwrap().0.starts_with("GET /v2/clusters/"));
            bench
        }

        fn sees(&mut self, status: &str, host: &str) -> Option<(String, Value)> {
            let hosts =
                vec![json!({"id": HostId::default(), "status": host}); self.plan.shape.hosts as usize];
            self.next(Some((200, json!({"status": status, "hosts": hosts}))))
        }
    }

    #[test]
    fn a_cluster_is_set_up_and_installed() {
        let mut bench = Bench::created(Topology::Compact);
        assert!(bench.sees("pending-for-input", "discovering").unwrap().0.starts_with("GET"));
        let (path, body) = bench.sees("pending-for-input", "known").unwrap();
        assert!(path.starts_with("PATCH /v2/clusters/"), "{path}");
        assert_eq!(body, json!({"api_vips": [{"ip": "10.0.0.2"}], "ingress_vips": [{"ip": "10.0.0.3"}]}));
        assert!(bench.next(Some((201, json!({})))).unwrap().0.starts_with("GET"));
        assert!(bench.sees("ready", "insufficient").unwrap().0.starts_with("GET"));
        assert!(bench.sees("ready", "known").unwrap().0.ends_with("/actions/install"));
        assert!(bench.next(Some((202, json!({})))).unwrap().0.starts_with("GET"));
        assert!(bench.sees("installing", "installing").unwrap().0.starts_with("GET"));
        assert_eq!(bench.sees("installed", "installed"), None);
        assert!(bench.owner.has_ended() && bench.owner.trouble.is_none());
    }

    #[test]
    fn hosts_get_their_roles_first() {
        let mut bench = Bench::created(Topology::Arbiter);
        let mut roles = vec![bench.sees("pending-for-input", "known").unwrap().1["host_role"].clone()];
        for _ in 1..3 {
            roles.push(bench.next(Some((200, json!({})))).unwrap().1["host_role"].clone());
        }
        assert_eq!(roles, ["master", "master", "arbiter"]);
        assert!(bench.next(Some((200, json!({})))).unwrap().0.starts_with("GET"));
    }

    #[test]
    fn refusals_end_it_with_their_reason() {
        let mut bench = Bench::new(Topology::Sno);
        bench.next(None);
        assert_eq!(bench.next(Some((400, json!({"reason": "no such version"})))), None);
        assert_eq!(bench.owner.trouble.as_deref(), Some("no cluster: 400: no such version"));

        let mut bench = Bench::created(Topology::Compact);
        for _ in 1..ATTEMPTS {
            assert!(bench.sees("ready", "known").unwrap().0.ends_with("/actions/install"));
            assert!(bench.next(Some((409, json!({"reason": "not now"})))).unwrap().0.starts_with("GET"));
        }
        bench.sees("ready", "known");
        assert_eq!(bench.next(Some((409, json!({"reason": "not now"})))), None);
        assert_eq!(bench.owner.trouble.as_deref(), Some("the installation is refused: 409: not now"));
    }

    #[test]
    fn a_cluster_that_stays_as_it_is_is_left() {
        let mut bench = Bench::created(Topology::Compact);
        bench.sees("insufficient", "insufficient");
        while bench.sees("insufficient", "insufficient").is_some() {
            assert!(bench.now < 2 * bench.plan.settle);
        }
        assert!(bench.now > bench.plan.settle && bench.owner.trouble.is_none());
        let mut bench = Bench::created(Topology::Compact);
        bench.sees("ready", "known");
        bench.next(Some((202, json!({}))));
        assert_eq!(bench.sees("ready", "known"), None, "the preparation failed");
    }

    #[test]
    fn an_installation_is_reset_once_and_begun_anew() {
        let mut bench = Bench::new(Topology::Compact);
        bench.plan.faults = vec!["reset@joined".parse().unwrap()];
        let mut bench = bench.create();
        let joined = json!({"status": "installing", "hosts": [
            {"id": HostId::default(), "status": "installing-in-progress", "progress": {"current_stage": "Joined"}}
        ]});
        assert!(bench.sees("ready", "known").unwrap().0.ends_with("/actions/install"));
        assert!(bench.next(Some((202, json!({})))).unwrap().0.starts_with("GET"));
        assert!(bench.next(Some((200, joined.clone()))).unwrap().0.ends_with("/actions/reset"));
        assert!(bench.next(Some((202, json!({})))).unwrap().0.starts_with("GET"));
        assert!(bench.sees("insufficient", "resetting-pending-user-action").unwrap().0.starts_with("GET"));
        assert!(bench.sees("ready", "known").unwrap().0.ends_with("/actions/install"));
        assert!(bench.next(Some((202, json!({})))).unwrap().0.starts_with("GET"));
        assert!(bench.next(Some((200, joined))).unwrap().0.starts_with("GET"), "once is enough");
        assert_eq!(bench.sees("installed", "installed"), None);
        assert!(bench.owner.trouble.is_none());
    }

    #[test]
    fn hosts_are_added_one_after_the_other() {
        let shape = Shape { added_masters: 1, added_workers: 1, ..Shape::of(Topology::Compact) };
        let mut bench = Bench::of(shape).create();
        bench.sees("ready", "known");
        bench.next(Some((202, json!({}))));
        assert!(bench.sees("installed", "installed").unwrap().0.ends_with("/actions/allow-add-hosts"));
        assert!(bench.next(Some((202, json!({})))).unwrap().0.starts_with("GET"));
        assert!(bench.sees("adding-hosts", "installed").unwrap().0.starts_with("GET"));
        let (path, body) = bench.sees("adding-hosts", "known").unwrap();
        assert!(path.starts_with("PATCH") && body == json!({"host_role": "master"}), "{path}");
        let installs = bench.next(Some((201, json!({})))).unwrap().0;
        assert!(installs.starts_with("POST /v2/infra-envs/") && installs.ends_with("/actions/install"));
        assert!(bench.next(Some((202, json!({})))).unwrap().0.starts_with("GET"));
        assert!(bench.sees("adding-hosts", "known").unwrap().0.ends_with("/actions/install"));
        bench.next(Some((202, json!({}))));
        assert_eq!(bench.sees("adding-hosts", "added-to-existing-cluster"), None);
        assert!(bench.owner.trouble.is_none());
    }
}
