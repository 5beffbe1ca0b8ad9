use std::time::Duration;

use assisted_wire::id::{ClusterId, HostId};
use assisted_wire::operation::BASE_PATH;
use serde_json::{Value, json};

use super::*;
use crate::action::{Effect, Response};
use crate::plan::Shape;
use crate::topology::Topology;

struct Bench {
    user: User,
    plan: Plan,
    now: Duration,
    /// Whether what is answered was sent more than once.
    repeated: bool,
}

impl Bench {
    fn new(topology: Topology) -> Self {
        Self::of(Shape::of(topology))
    }

    fn of(shape: Shape) -> Self {
        let plan = Plan::new(shape, 1, 60.0).unwrap();
        Self { user: User::new(0), plan, now: Duration::ZERO, repeated: false }
    }

    /// What the user sends next, when it gets an answer, or when it is woken.
    fn next(&mut self, answer: Option<(u16, Value)>) -> Option<(String, Value)> {
        let mut out = ActionSink::new(self.now, 0);
        let site = Site::new(0, self.plan.shape.needs().unwrap()).unwrap();
        let context = Context { plan: &self.plan, site };
        match answer {
            Some((status, body)) => {
                let answer = Response { status, body: body.to_string().into(), repeated: self.repeated };
                self.user.answered(&answer, &context, &mut out);
            }
            None if self.user.cluster_id.is_none() => {
                self.user.start(&context, &mut out);
            }
            None => self.user.woken(&mut out),
        }
        match out.take().pop()? {
            (_, Effect::Send(call)) => {
                let body = serde_json::from_slice(&call.body).unwrap_or_default();
                Some((format!("{} {}", call.method, call.path.trim_start_matches(BASE_PATH)), body))
            }
            (pause, Effect::Wake(_)) => {
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
        let hosts = vec![json!({"id": HostId::default(), "status": host}); self.plan.shape.hosts as usize];
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
    assert!(bench.user.has_ended() && bench.user.trouble.is_none());
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
    assert_eq!(bench.user.trouble.as_deref(), Some("no cluster: 400: no such version"));

    let mut bench = Bench::created(Topology::Compact);
    for _ in 1..ATTEMPTS {
        assert!(bench.sees("ready", "known").unwrap().0.ends_with("/actions/install"));
        assert!(bench.next(Some((409, json!({"reason": "not now"})))).unwrap().0.starts_with("GET"));
    }
    bench.sees("ready", "known");
    assert_eq!(bench.next(Some((409, json!({"reason": "not now"})))), None);
    assert_eq!(bench.user.trouble.as_deref(), Some("the installation is refused: 409: not now"));
}

#[test]
fn a_cluster_that_stays_as_it_is_is_left() {
    let mut bench = Bench::created(Topology::Compact);
    bench.sees("insufficient", "insufficient");
    while bench.sees("insufficient", "insufficient").is_some() {
        assert!(bench.now < 2 * bench.plan.settle);
    }
    assert!(bench.now > bench.plan.settle && bench.user.trouble.is_none());
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
    assert!(bench.user.trouble.is_none());
}

#[test]
fn what_was_done_is_refused_when_it_is_asked_for_again() {
    for (fault, asked) in [("reset@joined", "/actions/reset"), ("cancel@joined", "/actions/cancel")] {
        for repeated in [false, true] {
            let mut bench = Bench::new(Topology::Compact);
            bench.plan.faults = vec![fault.parse().unwrap()];
            let mut bench = bench.create();
            bench.sees("ready", "known");
            bench.next(Some((202, json!({}))));
            let joined = json!({"status": "installing", "hosts": [{
                "id": HostId::default(), "status": "installing-in-progress", "progress": {"current_stage": "Joined"}
            }]});
            assert!(bench.next(Some((200, joined))).unwrap().0.ends_with(asked));
            bench.repeated = repeated;
            let next = bench.next(Some((409, json!({"reason": "not now"}))));
            assert_eq!(next.is_some_and(|(path, _)| path.starts_with("GET")), repeated, "{asked}");
            assert_eq!(bench.user.trouble.is_none(), repeated, "{asked}: {:?}", bench.user.trouble);
        }
    }
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
    assert!(bench.user.trouble.is_none());
}

#[test]
fn hosts_come_when_someone_else_opens_the_cluster_and_are_installed_by_them() {
    let mut bench = Bench::of(Shape { added_workers: 1, ..Shape::of(Topology::Compact) });
    bench.plan.hosts_only = true;
    let mut bench = bench.create();
    for (status, host) in [("ready", "known"), ("installed", "installed")] {
        assert!(bench.sees(status, host).unwrap().0.starts_with("GET"));
        assert_eq!(bench.user.added, None);
    }
    assert!(bench.sees("adding-hosts", "installed").unwrap().0.starts_with("GET"));
    assert_eq!(bench.user.added, Some(0));
    let patient = bench.now + 2 * bench.plan.settle;
    while bench.now < patient {
        assert!(bench.sees("adding-hosts", "known").unwrap().0.starts_with("GET"));
    }
    assert_eq!(bench.sees("adding-hosts", "added-to-existing-cluster"), None);
    assert!(bench.user.trouble.is_none());
}
