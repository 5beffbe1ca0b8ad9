//! Connections to the clusters that the hub installed: one for each, made of its kubeconfig, kept as long as that is the same.

use std::collections::BTreeMap;
use std::time::Duration;

use assisted_base::error::chain;
use assisted_base::retry::{Backoff, Jitter};
use assisted_core::model::object_key::ObjectKey;
use kube::Client;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::SyncError;

/// Connections that are kept; the one that was not used for longest makes room.
const KEPT: usize = 200;
/// How long one piece of work in a cluster may take.
pub(super) const LIMIT: Duration = Duration::from_secs(60);
/// How long a cluster that was found away is not tried again.
const PAUSE: Backoff =
    Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(120), jitter: Jitter::Half };

/// Why something could not be done in a cluster.
#[derive(Debug, thiserror::Error)]
pub(in crate::controllers) enum SpokeError {
    /// Nobody has its credentials: there is no Secret.
    #[error("there is no secret {0} with the kubeconfig of the cluster")]
    NoSecret(ObjectKey),
    /// They make no sense.
    #[error("{0}")]
    Unusable(String),
    /// Its API can't be reached; it is not tried again for a while.
    #[error("the API of the cluster can't be reached: {0}")]
    Away(String),
    /// Its API refused something.
    #[error("the API of the cluster refused: {}", chain(.0))]
    Refused(#[source] Box<kube::Error>),
    /// The hub's own API failed.
    #[error("{}", chain(.0))]
    Hub(#[source] Box<kube::Error>),
}

impl From<&SpokeError> for SyncError {
    fn from(error: &SpokeError) -> Self {
        Self::backend(error.to_string())
    }
}

/// The version of a Secret.
pub(super) type Version = (Option<String>, Option<String>);

pub(super) struct Connection {
    pub(super) secret: Version,
    pub(super) server: Option<String>,
    pub(super) client: Client,
    pub(super) used: Instant,
}

/// A cluster that was found away.
struct Absence {
    secret: Version,
    text: String,
    times: u32,
    until: Instant,
}

/// How long the authority of a cluster is taken for the same.
const AUTHORITY: Duration = Duration::from_secs(600);

/// What is known of one cluster.
#[derive(Default)]
struct Known {
    /// The authority behind the server of its nodes' configuration, and when it was read.
    authority: Option<(Instant, String)>,
    connection: Option<Connection>,
    absence: Option<Absence>,
    /// What is shown by its objects.
    problem: Option<String>,
}

/// All clusters by their ClusterDeployments.
#[derive(Default)]
pub(in crate::controllers) struct Spokes(Mutex<BTreeMap<ObjectKey, Known>>);

impl Spokes {
    /// Forgets a cluster whose objects are gone.
    pub(in crate::controllers) fn forget(&self, key: &ObjectKey) {
        self.0.lock().remove(key);
    }

    /// What stands in the way of the work in a cluster.
    pub(in crate::controllers) fn problem(&self, key: &ObjectKey) -> Option<SyncError> {
        self.0.lock().get(key)?.problem.clone().map(SyncError::backend)
    }

    /// The authority behind the server from which its nodes get their configuration, PEM, if that was read a moment ago.
    pub(in crate::controllers) fn authority(&self, key: &ObjectKey) -> Option<String> {
        let all = self.0.lock();
        let (read, authority) = all.get(key)?.authority.as_ref()?;
        (read.elapsed() < AUTHORITY).then(|| authority.clone())
    }

    /// Remembers it.
    pub(in crate::controllers) fn keep_authority(&self, key: &ObjectKey, authority: &str) {
        let mut all = self.0.lock();
        all.entry(key.clone()).or_default().authority = Some((Instant::now(), authority.to_owned()));
    }

    /// Notes what stands in the way; whether that is something else than before.
    pub(super) fn record_problem(&self, key: &ObjectKey, problem: Option<String>) -> bool {
        let mut known = self.0.lock();
        if problem.is_none() && !known.contains_key(key) {
            return false;
        }
        let known = known.entry(key.clone()).or_default();
        let is_new = known.problem != problem;
        known.problem = problem;
        is_new
    }

    /// The connection that is kept, unless the credentials are others by now.
    pub(super) fn kept(
        &self,
        key: &ObjectKey,
        secret: &Version,
        server: Option<&str>,
    ) -> Result<Option<Client>, SpokeError> {
        let mut all = self.0.lock();
        let Some(known) = all.get_mut(key) else { return Ok(None) };
        let now = Instant::now();
        if let Some(absence) = known.absence.as_mut().filter(|absence| absence.secret == *secret) {
            if absence.until > now {
                return Err(SpokeError::Away(absence.text.clone()));
            }
            // One tries; until it knows more the others need not wait.
            absence.until = now + LIMIT;
        }
        let fits = |kept: &&mut Connection| kept.secret == *secret && kept.server.as_deref() == server;
        Ok(known.connection.as_mut().filter(fits).map(|kept| {
            kept.used = now;
            kept.client.clone()
        }))
    }

    pub(super) fn keep(&self, key: &ObjectKey, connection: Connection) {
        let mut all = self.0.lock();
        all.entry(key.clone()).or_default().connection = Some(connection);
        let connected = |known: &Known| known.connection.as_ref().map(|kept| kept.used);
        if all.values().filter_map(connected).count() > KEPT {
            let oldest = all.iter().filter_map(|(key, known)| Some((connected(known)?, key.clone()))).min();
            if let Some(known) = oldest.and_then(|(_, key)| all.get_mut(&key)) {
                known.connection = None;
            }
        }
    }

    pub(super) fn is_there(&self, key: &ObjectKey) {
        if let Some(known) = self.0.lock().get_mut(key) {
            known.absence = None;
        }
    }

    pub(super) fn is_away(&self, key: &ObjectKey, secret: Version, text: &str) {
        let mut all = self.0.lock();
        let known = all.entry(key.clone()).or_default();
        let before = known.absence.take().filter(|absence| absence.secret == secret);
        let times = before.map_or(1, |absence| absence.times.saturating_add(1));
        let until = Instant::now() + PAUSE.pause(times);
        known.absence = Some(Absence { secret, text: text.to_owned(), times, until });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        (Some("uid".to_owned()), Some(text.to_owned()))
    }

    fn client() -> Client {
        Client::try_from(kube::Config::new("http://192.0.2.1:6443".parse().unwrap())).unwrap()
    }

    fn connection(secret: &str) -> Connection {
        Connection { secret: version(secret), server: None, client: client(), used: Instant::now() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_kept_as_long_as_the_secret_is_the_same() {
        let (spokes, key) = (Spokes::default(), ObjectKey::new("site", "demo"));
        assert!(spokes.kept(&key, &version("1"), None).unwrap().is_none());
        spokes.keep(&key, connection("1"));
        assert!(spokes.kept(&key, &version("1"), None).unwrap().is_some());
        assert!(spokes.kept(&key, &version("2"), None).unwrap().is_none());
        assert!(spokes.kept(&key, &version("1"), Some("https://other:6443")).unwrap().is_none());
        spokes.forget(&key);
        assert!(spokes.kept(&key, &version("1"), None).unwrap().is_none());

        for number in 0..KEPT + 10 {
            tokio::time::advance(Duration::from_millis(1)).await;
            spokes.keep(&ObjectKey::new("site", number.to_string()), connection("1"));
        }
        let kept = |number: usize| {
            let key = ObjectKey::new("site", number.to_string());
            spokes.kept(&key, &version("1"), None).unwrap().is_some()
        };
        assert_eq!((kept(9), kept(10)), (false, true), "the oldest make room");
    }

    #[tokio::test(start_paused = true)]
    async fn a_cluster_that_is_away_is_tried_by_one_at_a_time() {
        let (spokes, key) = (Spokes::default(), ObjectKey::new("site", "demo"));
        spokes.keep(&key, connection("1"));
        spokes.is_away(&key, version("1"), "refused");
        let told = |spokes: &Spokes, secret| {
            spokes.kept(&key, &version(secret), None).err().map(|error| error.to_string())
        };
        assert_eq!(told(&spokes, "1").unwrap(), "the API of the cluster can't be reached: refused");
        // Other credentials may lead elsewhere.
        assert_eq!(told(&spokes, "2"), None);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(told(&spokes, "1"), None);
        assert!(told(&spokes, "1").is_some(), "another one tries at this moment");
        spokes.is_there(&key);
        assert_eq!(told(&spokes, "1"), None);
    }

    #[test]
    fn what_is_in_the_way_is_noted_once() {
        let (spokes, key) = (Spokes::default(), ObjectKey::new("site", "demo"));
        assert!(!spokes.record_problem(&key, None));
        assert!(
            spokes.record_problem(&key, Some("away".to_owned()))
                && !spokes.record_problem(&key, Some("away".to_owned()))
        );
        assert_eq!(spokes.problem(&key).unwrap().text, "away");
        assert!(spokes.record_problem(&key, None) && spokes.problem(&key).is_none());
    }
}
