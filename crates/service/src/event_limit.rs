//! A rate limit for events that come often (service-api §11.4).

use std::collections::{BTreeMap, HashMap};

use assisted_config::Settings;
use assisted_core::model::event::NewEvent;
use assisted_core::model::event::catalogue::PAUSES;
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

type Key = (&'static str, Option<ClusterId>, Option<HostId>, Option<InfraEnvId>);

/// When each limited event was emitted last.
#[derive(Debug)]
pub(crate) struct Limits {
    pauses: BTreeMap<String, SignedDuration>,
    emitted: Mutex<HashMap<Key, Timestamp>>,
}

impl Limits {
    pub(crate) fn new(settings: &Settings) -> Self {
        let usual = PAUSES.iter().map(|(spec, pause)| (spec.name.to_owned(), *pause));
        let own = settings.events.rate_limits.0.iter().map(|(name, pause)| (name.clone(), *pause));
        // The later one of a name counts. Settings are durations of a century at most.
        let pauses = usual
            .chain(own)
            .filter_map(|(name, pause)| Some((name, SignedDuration::try_from(pause).ok()?)))
            .collect();
        Self { pauses, emitted: Mutex::default() }
    }

    /// Whether the event may be emitted now; if so, it counts as emitted unless it is given up.
    pub(crate) fn claim(&self, event: &NewEvent, now: Timestamp) -> bool {
        let Some(pause) = self.pauses.get(event.name) else { return true };
        let key = key(event);
        let mut emitted = self.emitted.lock();
        if emitted.get(&key).is_some_and(|last| now.duration_since(*last) < *pause) {
            return false;
        }
        emitted.insert(key, now);
        true
    }

    /// Takes back that an event counts as emitted: it could not be stored.
    pub(crate) fn give_up(&self, event: &NewEvent) {
        if self.pauses.contains_key(event.name) {
            self.emitted.lock().remove(&key(event));
        }
    }

    /// Forgets events that may be emitted again anyway.
    pub(crate) fn tidy(&self, now: Timestamp) {
        let longest = self.pauses.values().max().copied().unwrap_or_default();
        self.emitted.lock().retain(|_, last| now.duration_since(*last) < longest);
    }
}

fn key(event: &NewEvent) -> Key {
    (event.name, event.cluster_id, event.host_id, event.infra_env_id)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use assisted_config::RateLimits;
    use assisted_core::model::event::catalogue;

    use super::*;

    #[test]
    fn once_in_its_time_for_each_host() {
        let mut settings = Settings::default();
        let pause = Duration::from_secs(600);
        settings.events.rate_limits = RateLimits([("infra_env_registered".to_owned(), pause)].into());
        let limits = Limits::new(&settings);
        let at = |minute: i64| Timestamp::from_second(minute * 60).unwrap();
        let (one, other) = (InfraEnvId::random(), InfraEnvId::random());
        let event = |id| catalogue::INFRA_ENV_REGISTERED.of_infra_env(id, None, &[]);
        assert!(limits.claim(&event(one), at(0)));
        assert!(!limits.claim(&event(one), at(9)));
        assert!(limits.claim(&event(other), at(9)));
        assert!(limits.claim(&event(one), at(10)));
        limits.give_up(&event(one));
        assert!(limits.claim(&event(one), at(10)));
        let unlimited = catalogue::INFRA_ENV_DEREGISTERED.of_infra_env(one, None, &[]);
        assert!(limits.claim(&unlimited, at(10)) && limits.claim(&unlimited, at(10)));
        limits.tidy(at(1000));
        assert!(limits.emitted.lock().is_empty());
    }
}
