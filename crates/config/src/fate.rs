//! Variables of the service that this one replaces and that nothing reads here: what becomes of each.
//!
//! One whose value asks for what this version can't do stops the start. One that can't matter here is logged at the start, and
//! changes nothing. An operator's template may set all of them: a value that asks for nothing never stops the start.

use crate::topic::{Env, SettingsError};
use crate::value::excerpt;

/// What becomes of a variable that nothing reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Stops the start, unless its value is one of those that ask for nothing.
    Refused {
        /// Values that ask for nothing; the first is the one to give.
        harmless: &'static [&'static str],
        why: &'static str,
    },
    /// Changes nothing.
    NoEffect { why: &'static str },
}

/// A variable that nothing reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unread {
    pub name: &'static str,
    pub fate: Fate,
}

const OFF: &[&str] = &["false", "False", "FALSE", "f", "F", "0"];

const AT_ONCE: &str = "eight BareMetalHosts are worked on at once";
const SELF_TOKEN: &str = "the account service is asked by OCM_SERVICE_CLIENT_ID and its secret alone";
const LOOP: &str =
    "no loop goes over all clusters and hosts: each is looked at when something changes, or becomes due";
const LEADER: &str = "each replica takes work from the database under a lease; only controllers of the Kubernetes API have a leader";

const fn refused(name: &'static str, harmless: &'static [&'static str], why: &'static str) -> Unread {
    Unread { name, fate: Fate::Refused { harmless, why } }
}

const fn no_effect(name: &'static str, why: &'static str) -> Unread {
    Unread { name, fate: Fate::NoEffect { why } }
}

/// All of them, by name.
pub const UNREAD: &[Unread] = &[
    no_effect("ACKNOWLEDGE_DEPRECATED_OCM_SELF_TOKEN", SELF_TOKEN),
    no_effect("BMAC_MAX_CONCURRENT_RECONCILES", AT_ONCE),
    no_effect("CLUSTER_MONITOR_BATCH_SIZE", LOOP),
    no_effect("CLUSTER_MONITOR_BLACKLIST_DURATION", LOOP),
    no_effect("CLUSTER_MONITOR_CYCLE_DEADLINE", LOOP),
    no_effect("CLUSTER_MONITOR_INTERVAL", LOOP),
    no_effect("CLUSTER_MONITOR_PER_CLUSTER_DEADLINE", LOOP),
    no_effect("DATA_TEMP_DIR", "images are put together while they are sent: nothing is kept for a while"),
    no_effect("DB_SLOW_QUERY_HTTP_ROUTES", "DB_LOG_SLOW_QUERIES logs what is slow, whoever asked for it"),
    no_effect("DB_SLOW_QUERY_SCOPES", "DB_LOG_SLOW_QUERIES logs what is slow, whoever asked for it"),
    no_effect("DEPLOY_TARGET", LEADER),
    refused("DUMMY_IGNITION", OFF, "files for tests come from GENERATOR=simulation here"),
    no_effect(
        "ENABLE_XATTR_FALLBACK",
        "no file carries extended attributes: what is known of it is in the database",
    ),
    no_effect("HOST_MONITOR_BATCH_SIZE", LOOP),
    no_effect("HOST_MONITOR_INTERVAL", LOOP),
    no_effect("HOST_MONITOR_PER_HOST_TIMEOUT", LOOP),
    no_effect(
        "IMAGE_EXPIRATION_INTERVAL",
        "images are put together when they are asked for: none is stored that could expire",
    ),
    no_effect(
        "INSTALLER_CACHE_RELEASE_FETCH_RETRY_INTERVAL",
        "what fails is tried again after pauses that grow",
    ),
    no_effect("OCM_SELF_TOKEN", SELF_TOKEN),
    refused("TLS_CIPHER_SUITES", &[], "the suites can't be chosen: only strong ones are accepted"),
];

/// How deployments write a list without items.
const NOTHING: &str = "\"\"";

/// Whether a text says something.
pub(crate) fn says_something(text: &str) -> bool {
    !text.is_empty() && text != NOTHING
}

impl Unread {
    /// Whether its value must not be shown.
    pub(crate) fn is_secret(&self) -> bool {
        ["SECRET", "TOKEN"].iter().any(|word| self.name.contains(word))
            && self.name != "ACKNOWLEDGE_DEPRECATED_OCM_SELF_TOKEN"
    }

    pub(crate) fn check(&self, env: &Env<'_>) -> Result<(), SettingsError> {
        let Fate::Refused { harmless, why } = self.fate else { return Ok(()) };
        let Some(value) = (env.0)(self.name).filter(|value| says_something(value.trim())) else {
            return Ok(());
        };
        if harmless.contains(&value.trim()) {
            return Ok(());
        }
        Err(SettingsError::Refused {
            variable: self.name,
            value: excerpt(&value),
            why,
            remedy: match harmless.first() {
                Some(value) => format!("unset it, or set it to {value}"),
                None => "unset it".to_owned(),
            },
        })
    }
}

/// Refuses the first variable whose value asks for what this version can't do.
pub(crate) fn check(env: &Env<'_>) -> Result<(), SettingsError> {
    UNREAD.iter().try_for_each(|unread| unread.check(env))
}

/// The variables that are set and change nothing, each with the reason.
pub fn without_effect(get: &dyn Fn(&str) -> Option<String>) -> Vec<(&'static str, &'static str)> {
    let said = |unread: &&Unread| get(unread.name).is_some_and(|value| says_something(value.trim()));
    let reason = |unread: &Unread| match unread.fate {
        Fate::NoEffect { why } => Some((unread.name, why)),
        Fate::Refused { .. } => None,
    };
    UNREAD.iter().filter(said).filter_map(reason).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    fn start(set: &[(&str, &str)]) -> Result<Settings, String> {
        let get =
            |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Settings::from_env(&get).map_err(|error| error.to_string())
    }

    #[test]
    fn what_cannot_be_done_is_refused_with_a_sentence() {
        assert_eq!(
            start(&[("DUMMY_IGNITION", "true")]).unwrap_err(),
            "DUMMY_IGNITION=\"true\" is refused: files for tests come from GENERATOR=simulation here. Please unset it, or set it to false"
        );
        for unread in UNREAD {
            let Fate::Refused { .. } = unread.fate else { continue };
            let told = start(&[(unread.name, "something else")]).unwrap_err();
            assert!(told.starts_with(unread.name), "{told}");
        }
    }

    #[test]
    fn a_value_that_asks_for_nothing_is_taken() {
        for unread in UNREAD {
            let Fate::Refused { harmless, .. } = unread.fate else {
                start(&[(unread.name, "anything")]).unwrap();
                continue;
            };
            for value in harmless.iter().copied().chain(["", "\"\""]) {
                start(&[(unread.name, value)]).unwrap();
            }
        }
    }

    #[test]
    fn what_changes_nothing_is_told_when_it_is_set() {
        let get = |name: &str| match name {
            "OCM_SELF_TOKEN" | "DEPLOY_TARGET" => Some("k8s".to_owned()),
            "DUMMY_IGNITION" => Some("false".to_owned()),
            "JWKS_CERT" => Some(String::new()),
            _ => None,
        };
        assert_eq!(without_effect(&get), [("DEPLOY_TARGET", LEADER), ("OCM_SELF_TOKEN", SELF_TOKEN)]);
    }
}
