//! How far the builds are, on disk after each transition (ocl-day1 §B5.1): `status.json` as a whole, `events.jsonl` line by line.

use std::fs::File;
use std::io::{self, Write};

use assisted_base::failpoint;
use assisted_wire::on_cluster_layering::{BuildLocation, BuildState, LayeringBuild, LayeringErrorCode, Pool};
use assisted_wire::time::DateTime;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::{Failed, Machine};
use crate::paths;
use crate::status::{Failure, Status};

const EVENTS: &str = "/opt/openshift/ocl/state/events.jsonl";
/// How often one pool's percentages are worth a write.
const FINEST: u8 = 2;

/// What `status.json` says: each pool's build, and what concerns all of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    pub builds: Vec<Status>,
    /// Whether the release can take the images over as its own; known once the first configuration is rendered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seedable: Option<bool>,
    /// By pool, in the order of the builds: a hash over all that goes into the image.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<(Pool, String)>,
    /// Bytes of each image's layers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bytes: Vec<(Pool, u64)>,
    /// How often each pool's build was tried again, in whatever state: what a state counts begins anew with the next one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retries: Vec<(Pool, u32)>,
}

/// Percent of the whole at which a state begins; a build's steps fill what lies between building and pushing.
pub(crate) fn begins_at(state: BuildState) -> u8 {
    use BuildState as S;
    match state {
        S::Pending | S::Failed => 0,
        S::WaitingForRender => 1,
        S::Rendered => 4,
        S::Preflight => 5,
        S::PreparingScratch => 7,
        S::StartingRegistry => 10,
        S::PullingBase => 12,
        S::Building => 30,
        S::Pushing => 80,
        S::Verifying => 92,
        S::Rerendering => 94,
        S::Ready => 100,
    }
}

/// Now, as finely as files and the wire tell it.
fn now() -> DateTime {
    let now = Timestamp::now();
    DateTime(Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now))
}

impl Progress {
    /// Reads what a builder on this machine has written; `None` where none has.
    ///
    /// # Errors
    /// When it is there and can't be read.
    pub fn read(machine: &Machine) -> io::Result<Option<Self>> {
        match machine.read(paths::STATUS) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn of(&self, pool: Pool) -> Option<&Status> {
        self.builds.iter().find(|build| build.pool == pool)
    }

    /// Whether all images are there, or one has failed for good.
    pub fn end(&self) -> Option<Result<(), Failed>> {
        let failed = self.builds.iter().find(|build| build.state == BuildState::Failed);
        if let Some(build) = failed {
            let failure = build.error.as_ref().map(|error| Failed {
                code: error.code,
                reason: error.reason.clone(),
                retriable: error.retriable,
            });
            let unknown = || Failed::for_good(LayeringErrorCode::BuildInfra, "the reason was not kept");
            return Some(Err(failure.unwrap_or_else(unknown)));
        }
        let ready =
            !self.builds.is_empty() && self.builds.iter().all(|build| build.state == BuildState::Ready);
        ready.then_some(Ok(()))
    }

    /// The record of a pool, as it is reported to the service.
    pub fn record(&self, pool: Pool, location: BuildLocation) -> Option<LayeringBuild> {
        let build = self.of(pool)?;
        // A status counts the attempts at its state; a record, which must not go back, those at the whole.
        let retries = self.retries.iter().find(|(of, _)| *of == pool).map_or(0, |(_, count)| *count);
        let found =
            |list: &[(Pool, String)]| list.iter().find(|(of, _)| *of == pool).map(|(_, value)| value.clone());
        Some(LayeringBuild {
            pool,
            location,
            host_id: None,
            state: build.state,
            // The service takes a smaller number for an older report.
            attempt: build.attempt.min(1) + retries,
            percent: build.percent,
            step: build.step.clone(),
            rendered_machine_config: build.rendered_machine_config.clone(),
            base_image: build.base_image.clone(),
            image: build.image.clone(),
            image_bytes: self.bytes.iter().find(|(of, _)| *of == pool).map(|(_, bytes)| *bytes),
            inputs_hash: found(&self.inputs),
            seedable: self.seedable,
            adopted: false,
            started_at: build.started_at,
            updated_at: build.updated_at,
            completed_at: build.updated_at.filter(|_| build.state.is_terminal()),
            error: build.error.as_ref().map(|error| error.reason.clone()),
            error_code: build.error.as_ref().map(|error| error.code),
        })
    }
}

/// The progress of a running builder, and its files.
#[derive(Debug)]
pub struct Store {
    machine: Machine,
    progress: Mutex<Progress>,
}

#[derive(Serialize)]
struct Event<'a> {
    at: DateTime,
    pool: Pool,
    state: &'a str,
    attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl Store {
    /// What an earlier builder left, or the beginning of the builds of `pools`.
    ///
    /// # Errors
    /// When files can't be read or written.
    pub(crate) fn open(machine: &Machine, pools: impl Iterator<Item = Pool>) -> io::Result<Self> {
        let (progress, is_new) = match Progress::read(machine)? {
            Some(progress) => (progress, false),
            None => (Progress { builds: pools.map(pending).collect(), ..Progress::default() }, true),
        };
        let store = Self { machine: machine.clone(), progress: Mutex::new(progress) };
        if is_new {
            store.change(|_| {})?;
        }
        Ok(store)
    }

    pub(crate) fn get(&self) -> Progress {
        self.progress.lock().clone()
    }

    /// Changes something, which is on disk when this returns.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Progress)) -> io::Result<()> {
        let mut progress = self.progress.lock();
        let before = progress.clone();
        change(&mut progress);
        let now = now();
        let mut events = String::new();
        for build in &mut progress.builds {
            let earlier = before.of(build.pool);
            if earlier.is_some_and(|earlier| earlier == build) {
                continue;
            }
            build.updated_at = Some(now);
            let is_step = |earlier: &Status| (earlier.state, earlier.attempt) == (build.state, build.attempt);
            if earlier.is_some_and(is_step) && build.state != BuildState::Pending {
                continue;
            }
            let event = Event {
                at: now,
                pool: build.pool,
                state: build.state.as_str(),
                attempt: build.attempt,
                error: build.error.as_ref().map(|error| error.reason.as_str()),
            };
            events.push_str(&serde_json::to_string(&event)?);
            events.push('\n');
        }
        self.machine.write(paths::STATUS, 0o600, serde_json::to_vec(&*progress)?)?;
        if !events.is_empty() {
            let mut file = File::options().create(true).append(true).open(self.machine.path(EVENTS))?;
            file.write_all(events.as_bytes())?;
            file.sync_all()?;
        }
        failpoint::passed(|| {
            let told = |build: &Status| format!("build {}", build.state.as_str());
            progress.builds.iter().map(told).collect()
        });
        Ok(())
    }

    /// A pool enters a state; its attempts are counted anew.
    pub(crate) fn enter(&self, pools: &[Pool], state: BuildState) -> io::Result<()> {
        self.change(|progress| {
            for build in progress.builds.iter_mut().filter(|build| pools.contains(&build.pool)) {
                build.state = state;
                build.attempt = 1;
                build.step = None;
                build.error = None;
                build.percent = begins_at(state);
                build.started_at = build.started_at.or_else(|| Some(now()));
            }
        })
    }

    /// An attempt has failed, and another follows.
    pub(crate) fn again(&self, pools: &[Pool], failed: &Failed) -> io::Result<()> {
        self.change(|progress| {
            for build in progress.builds.iter_mut().filter(|build| pools.contains(&build.pool)) {
                build.attempt += 1;
                build.error = Some(kept(failed, build.state));
            }
            for pool in pools {
                match progress.retries.iter_mut().find(|(of, _)| of == pool) {
                    Some((_, count)) => *count += 1,
                    None => progress.retries.push((*pool, 1)),
                }
            }
        })
    }

    /// The end of all builds that are not done.
    pub(crate) fn fail(&self, failed: &Failed) -> io::Result<()> {
        self.change(|progress| {
            for build in progress.builds.iter_mut().filter(|build| !build.state.is_terminal()) {
                build.error = Some(kept(failed, build.state));
                build.state = BuildState::Failed;
            }
        })
    }

    /// What a build does right now. It is not worth a report each time: only what moves the percentage on is.
    pub(crate) fn step(&self, pool: Pool, step: &str, percent: u8) -> io::Result<()> {
        let known = self.get();
        let Some(build) = known.of(pool) else { return Ok(()) };
        if build.step.is_some() && percent < build.percent.saturating_add(FINEST) && build.percent <= percent
        {
            return Ok(());
        }
        self.change(|progress| {
            for build in progress.builds.iter_mut().filter(|build| build.pool == pool) {
                build.step = Some(super::redact(step));
                build.percent = percent.max(build.percent);
            }
        })
    }
}

fn kept(failed: &Failed, state: BuildState) -> Failure {
    Failure { code: failed.code, reason: failed.reason.clone(), retriable: failed.retriable, state }
}

fn pending(pool: Pool) -> Status {
    Status {
        pool,
        state: BuildState::Pending,
        attempt: 0,
        step: None,
        percent: 0,
        started_at: None,
        updated_at: None,
        rendered_machine_config: None,
        base_image: None,
        image: None,
        digest: None,
        error: None,
    }
}

#[cfg(test)]
mod tests {
    use assisted_base::process::Tools;

    use super::*;

    #[test]
    fn what_was_written_is_where_it_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path(), Tools::default());
        assert!(Progress::read(&machine).unwrap().is_none());
        let pools = [Pool::Master, Pool::Worker];
        let store = Store::open(&machine, pools.into_iter()).unwrap();
        store.enter(&pools, BuildState::Building).unwrap();
        store.step(Pool::Master, "STEP 1/2: RUN password=hunter2", 40).unwrap();
        store.step(Pool::Master, "STEP 1/2", 41).unwrap();
        store.again(&[Pool::Master], &Failed::new(LayeringErrorCode::BuildInfra, "x")).unwrap();
        let left = Store::open(&machine, std::iter::empty()).unwrap().get();
        assert_eq!(left, store.get());
        let build = left.of(Pool::Master).unwrap();
        assert_eq!((build.state, build.attempt, build.percent), (BuildState::Building, 2, 40));
        assert!(!build.step.as_ref().unwrap().contains("hunter2"));
        assert!(left.end().is_none());
        // The service takes no record of an earlier attempt.
        store.enter(&[Pool::Master], BuildState::Pushing).unwrap();
        assert_eq!(store.get().of(Pool::Master).unwrap().attempt, 1);
        assert_eq!(store.get().record(Pool::Master, BuildLocation::Bootstrap).unwrap().attempt, 2);
        assert_eq!(store.get().record(Pool::Worker, BuildLocation::Bootstrap).unwrap().attempt, 1);
        store.fail(&Failed::for_good(LayeringErrorCode::Cancelled, "stopped")).unwrap();
        let failed = store.get().end().unwrap().unwrap_err();
        assert_eq!(failed.to_string(), "cancelled: stopped");
        let record = store.get().record(Pool::Worker, BuildLocation::Bootstrap).unwrap();
        assert_eq!(record.error_code, Some(LayeringErrorCode::Cancelled));
        assert!(record.completed_at.is_some());
        let events = std::fs::read_to_string(machine.path(EVENTS)).unwrap();
        let states: Vec<_> = events.lines().filter(|line| line.contains("\"master\"")).collect();
        assert!(states.len() == 4 && states[1].contains("\"attempt\":2"), "{states:#?}");
    }

    #[test]
    fn what_the_service_is_told_never_counts_back() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path(), Tools::default());
        let store = Store::open(&machine, std::iter::once(Pool::Master)).unwrap();
        let told = || store.get().record(Pool::Master, BuildLocation::Bootstrap).unwrap().attempt;
        assert_eq!(told(), 0);
        let failed = Failed::new(LayeringErrorCode::Pull, "connection reset");
        let mut all = Vec::new();
        for state in [BuildState::PullingBase, BuildState::Building, BuildState::Pushing] {
            store.enter(&[Pool::Master], state).unwrap();
            all.push((store.get().of(Pool::Master).unwrap().attempt, told()));
            store.again(&[Pool::Master], &failed).unwrap();
            all.push((store.get().of(Pool::Master).unwrap().attempt, told()));
        }
        // Each state has all of its tries, and the whole build one number that only grows.
        assert_eq!(all, [(1, 1), (2, 2), (1, 2), (2, 3), (1, 3), (2, 4)]);
        // A builder that is started anew goes on counting.
        let left = Store::open(&machine, std::iter::empty()).unwrap().get();
        assert_eq!(left.record(Pool::Master, BuildLocation::Bootstrap).unwrap().attempt, 4);
    }

    #[test]
    fn percentages_follow_the_states() {
        let all: Vec<_> = BuildState::ALL.iter().filter(|state| **state != BuildState::Failed).collect();
        assert!(all.windows(2).all(|pair| begins_at(*pair[0]) < begins_at(*pair[1])));
    }
}
