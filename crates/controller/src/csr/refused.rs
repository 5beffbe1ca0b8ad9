//! Requests that are not approved: each is logged when its reason changes, and reported once as an event, with the command
//! that lets the node in.
//!
//! Whoever has the bootstrapper's credentials can make requests without end, under nearly any name: what is remembered,
//! reported and shown of them is bounded.

use std::collections::BTreeMap;
use std::time::Duration;

use assisted_wire::event::{Event, EventCategory, EventSeverity};
use assisted_wire::id::ClusterId;
use assisted_wire::time::DateTime;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kube::ResourceExt;
use serde_json::json;
use tokio::time::Instant;
use tracing::warn;

use assisted_kube::csr::rules::{self, Rejection};

/// Requests that are remembered.
const REMEMBERED: usize = 1000;
/// Events within a period; one more says that there are more requests.
const EVENTS: u32 = 20;
const PERIOD: Duration = Duration::from_secs(60 * 60);
/// No text of a request is shown longer than this, in characters.
const SHOWN: usize = 200;

/// A request that was refused, as long as nobody has decided about it.
struct Entry {
    name: String,
    node: Option<String>,
    why: Rejection,
    since: Instant,
    reported: bool,
}

/// The requests that wait for somebody else.
#[derive(Default)]
pub(super) struct RejectedRequests {
    /// By their unique ids: a name may be used again.
    requests: BTreeMap<String, Entry>,
    /// When the period began, and the events that were reported in it.
    period: Option<(Instant, u32)>,
    /// Whether the log has said that no more can be remembered.
    full: bool,
}

/// What is to be reported.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Notice {
    Request { uid: String, text: String, props: String },
    More,
}

impl RejectedRequests {
    /// Forgets a request that is gone or decided, by its name, which another may have by now: that one is kept.
    pub(super) fn forget(&mut self, name: &str, but: Option<&str>) {
        self.requests.retain(|uid, entry| entry.name != name || Some(uid.as_str()) == but);
        self.full &= self.requests.len() >= REMEMBERED;
    }

    /// Whether a request has been refused before.
    pub(super) fn has_rejected(&self, request: &CertificateSigningRequest) -> bool {
        request.uid().is_some_and(|uid| self.requests.contains_key(&uid))
    }

    /// Notes that a request is refused. One that is for no kubelet is nobody's business here.
    pub(super) fn record(&mut self, request: &CertificateSigningRequest, why: &Rejection, now: Instant) {
        let (name, uid) = (request.name_any(), request.uid().unwrap_or_default());
        if !rules::is_of_kubelets(&request.spec)
            || self.requests.get(&uid).is_some_and(|entry| entry.why == *why)
        {
            return;
        }
        if let Some(entry) = self.requests.get_mut(&uid) {
            entry.why = why.clone();
        } else if self.requests.len() >= REMEMBERED {
            if !self.full {
                warn!(
                    "more than {REMEMBERED} requests for certificates are not approved: no further ones are reported"
                );
            }
            self.full = true;
            return;
        } else {
            let node = rules::node_name(&request.spec);
            let entry = Entry { name: name.clone(), node, why: why.clone(), since: now, reported: false };
            self.requests.insert(uid, entry);
        }
        warn!(request = shown(&name), why = cut(&why.to_string()), "not approved");
    }

    /// The next thing to tell: a request that has been refused for a while, since much resolves itself when a node has
    /// registered.
    pub(super) fn due(&mut self, now: Instant, grace: Duration) -> Option<Notice> {
        let (uid, entry) = self
            .requests
            .iter()
            .find(|(_, entry)| !entry.reported && now.duration_since(entry.since) >= grace)?;
        if self.period.is_some_and(|(begin, _)| now.duration_since(begin) >= PERIOD) {
            self.period = None;
        }
        match self.period.get_or_insert((now, 0)).1 {
            count if count < EVENTS => Some(entry.notice(uid)),
            EVENTS => Some(Notice::More),
            _ => None,
        }
    }

    /// Something was reported, and is not reported again.
    pub(super) fn reported(&mut self, notice: &Notice) {
        if let Some((_, count)) = &mut self.period {
            *count += 1;
        }
        if let Notice::Request { uid, .. } = notice
            && let Some(entry) = self.requests.get_mut(uid)
        {
            entry.reported = true;
        }
    }
}

impl Entry {
    fn notice(&self, uid: &str) -> Notice {
        let node = match &self.node {
            Some(node) => format!("of the node {}", shown(node)),
            None => "of a node".to_owned(),
        };
        let why = cut(&self.why.to_string());
        let command =
            rules::is_plain(&self.name).then(|| format!("oc adm certificate approve {}", self.name));
        let remedy = match &command {
            Some(command) => format!("If the machine is yours, let it in with: {command}"),
            None => "Its name could do harm in a shell: look at it with `oc get csr`".to_owned(),
        };
        let name = shown(&self.name);
        Notice::Request {
            uid: uid.to_owned(),
            text: format!("The request {name} for a certificate {node} was not approved: {why}. {remedy}"),
            props: json!({"csr": name, "reason": why, "command": command}).to_string(),
        }
    }
}

impl Notice {
    pub(super) fn event(&self, cluster: ClusterId, now: DateTime) -> Event {
        let (message, props) = match self {
            Self::Request { text, props, .. } => (text.clone(), props.clone()),
            Self::More => {
                let text =
                    "More requests for certificates of nodes were not approved: see them with `oc get csr`";
                (text.to_owned(), String::new())
            }
        };
        Event {
            name: "node_certificate_not_approved".to_owned(),
            category: Some(EventCategory::User),
            severity: EventSeverity::Warning,
            message,
            cluster_id: Some(cluster),
            host_id: None,
            infra_env_id: None,
            event_time: now,
            request_id: None,
            props,
        }
    }
}

/// A name of somebody unknown, as it can be shown: as it is where it is harmless, else quoted, with what is not printable
/// escaped.
pub(super) fn shown(name: &str) -> String {
    if rules::is_plain(name) { name.to_owned() } else { cut(&format!("{name:?}")) }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const GRACE: Duration = Duration::from_secs(60);

    fn request(uid: &str, name: &str, signer: &str) -> CertificateSigningRequest {
        serde_json::from_value(json!({
            "metadata": {"name": name, "uid": uid},
            "spec": {"request": "", "signerName": signer},
        }))
        .unwrap()
    }

    fn kubelets(uid: &str, name: &str) -> CertificateSigningRequest {
        request(uid, name, "kubernetes.io/kubelet-serving")
    }

    fn unknown(name: &str) -> Rejection {
        Rejection::UnknownHost { name: name.to_owned() }
    }

    /// Everything that is due, as it is reported.
    fn all(refused: &mut RejectedRequests, now: Instant) -> Vec<Event> {
        let mut reported = Vec::new();
        while let Some(notice) = refused.due(now, GRACE) {
            refused.reported(&notice);
            reported.push(notice.event(ClusterId::default(), DateTime(jiff::Timestamp::UNIX_EPOCH)));
        }
        reported
    }

    #[test]
    fn a_refused_request_is_reported_once() {
        let (mut refused, start) = (RejectedRequests::default(), Instant::now());
        let request = kubelets("1", "csr-x7k2p");
        refused.record(&request, &Rejection::NoNode { name: "w".to_owned() }, start);
        assert!(all(&mut refused, start + GRACE / 2).is_empty(), "it may resolve itself");
        refused.record(&request, &unknown("w"), start + GRACE / 2);
        let reported = all(&mut refused, start + GRACE);
        let texts: Vec<_> = reported.iter().map(|event| event.message.as_str()).collect();
        assert_eq!(
            texts,
            [
                "The request csr-x7k2p for a certificate of a node was not approved: no host of the inventory is called \"w\". \
              If the machine is yours, let it in with: oc adm certificate approve csr-x7k2p"
            ]
        );
        let props: Value = serde_json::from_str(&reported[0].props).unwrap();
        assert_eq!(props["command"], "oc adm certificate approve csr-x7k2p");
        refused.record(&request, &Rejection::NoNames, start + GRACE);
        assert!(all(&mut refused, start + GRACE * 9).is_empty(), "it was reported");

        // Decided, and asked again under the same name.
        refused.forget("csr-x7k2p", Some("2"));
        refused.record(&kubelets("2", "csr-x7k2p"), &unknown("w"), start + GRACE * 9);
        assert_eq!(all(&mut refused, start + GRACE * 10).len(), 1);
    }

    #[test]
    fn requests_for_others_are_not_reported() {
        let (mut refused, start) = (RejectedRequests::default(), Instant::now());
        for signer in ["kubernetes.io/kube-apiserver-client", "network.openshift.io/signer"] {
            refused.record(&request(signer, "ovn", signer), &Rejection::Organizations, start);
        }
        assert!(all(&mut refused, start + GRACE).is_empty());
    }

    #[test]
    fn many_requests_are_few_events() {
        let (mut refused, start) = (RejectedRequests::default(), Instant::now());
        let pending: Vec<_> =
            (0..2000).map(|number| kubelets(&number.to_string(), &format!("csr-{number}"))).collect();
        for request in &pending {
            refused.record(request, &unknown("w"), start);
        }
        assert_eq!(refused.requests.len(), REMEMBERED);
        let reported = all(&mut refused, start + GRACE);
        assert_eq!(reported.len(), 21);
        assert!(reported[20].message.starts_with("More requests"), "{reported:?}");
        assert!(all(&mut refused, start + PERIOD).is_empty());
        assert_eq!(all(&mut refused, start + GRACE + PERIOD).len(), 21);
        for request in &pending {
            refused.forget(&request.name_any(), Some("7"));
        }
        assert_eq!(refused.requests.keys().collect::<Vec<_>>(), ["7"]);
    }

    #[test]
    fn hostile_names_are_cleaned() {
        let long = "x".repeat(4000);
        for name in
            ["$(reboot)", "--all", "a b", "a;reboot", "a\nb", "a\u{202e}b", "\u{1b}[2J", "?dryRun=All", &long]
        {
            let (mut refused, start) = (RejectedRequests::default(), Instant::now());
            refused.record(&kubelets("1", name), &unknown(&long), start);
            let reported = all(&mut refused, start + GRACE);
            let event = &reported[0];
            assert!(!event.message.contains("oc adm"), "{}", event.message);
            assert!(event.message.contains("oc get csr"), "{}", event.message);
            assert!(
                !event.message.chars().any(|char| char.is_control() || char == '\u{202e}'),
                "{}",
                event.message
            );
            assert!(event.message.len() < 1000 && event.props.len() < 1000, "{}", event.message);
            assert!(serde_json::from_str::<Value>(&event.props).unwrap()["command"].is_null());
        }
    }
}
