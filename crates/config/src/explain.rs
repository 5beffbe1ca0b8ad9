//! What each variable does with the value that it has, for people.

use assisted_wire::secret::Secret;

use crate::fate::{Fate, UNREAD, says_something};
use crate::topic::Env;
use crate::value::Value;

/// A variable, its value, and what comes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    pub name: &'static str,
    /// The topic that it is of; empty for what nothing reads.
    pub topic: &'static str,
    /// The value that counts, as it would be given; `None`: it is a secret, and set.
    pub value: Option<String>,
    /// Whether it is set; else the value is what is used without it.
    pub is_set: bool,
    pub effect: Effect,
    /// What it means, or why it means nothing.
    pub meaning: String,
}

/// What a variable does in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is read.
    Works,
    /// It changes nothing.
    Harmless,
    /// It stops the start.
    Refused,
}

impl Effect {
    /// In a word.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Harmless => "harmless",
            Self::Refused => "refused",
        }
    }
}

/// Every variable that is read, by topic, and those that nothing reads and that are set.
pub fn explain(get: &dyn Fn(&str) -> Option<String>) -> Vec<Explained> {
    let env = Env(get);
    let mut all: Vec<Explained> = super::given(&env)
        .into_iter()
        .map(|(variable, given)| {
            let is_set = get(variable.name).is_some_and(|text| !text.is_empty());
            let is_secret = variable.kind == Secret::KIND;
            let (value, effect, meaning) = match given {
                Ok(value) => (value, Effect::Works, variable.meaning.to_owned()),
                Err(error) => (String::new(), Effect::Refused, error.to_string()),
            };
            let value = (!is_secret || !is_set).then_some(value);
            Explained { name: variable.name, topic: variable.topic, value, is_set, effect, meaning }
        })
        .collect();
    for unread in UNREAD {
        let Some(value) = get(unread.name).filter(|value| says_something(value.trim())) else { continue };
        let (Fate::Refused { why, .. } | Fate::NoEffect { why }) = unread.fate;
        let (effect, meaning) = match unread.check(&env) {
            Err(error) => (Effect::Refused, error.to_string()),
            Ok(()) => (Effect::Harmless, why.to_owned()),
        };
        // Some of them are secrets of what is not part of this program.
        let value = (!unread.is_secret()).then_some(value);
        all.push(Explained { name: unread.name, topic: "", value, is_set: true, effect, meaning });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variable_says_what_comes_of_it() {
        let get = |name: &str| {
            let value = match name {
                "DB_PASS" | "OCM_SELF_TOKEN" => "hush",
                "DB_HOST" => "db",
                "DB_SSL_MODE" => "",
                "HOST_MAX_DISCONNECTION_TIME" => "soon",
                "DEPLOY_TARGET" => "k8s",
                "DUMMY_IGNITION" => "true",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let all = explain(&get);
        let of = |name: &str| all.iter().find(|one| one.name == name).unwrap();
        let told = |name: &str| (of(name).value.as_deref(), of(name).is_set, of(name).effect.as_str());
        assert_eq!(told("DB_HOST"), (Some("db"), true, "works"));
        assert_eq!(told("DB_NAME"), (Some(""), false, "works"));
        assert_eq!(told("DB_SSL_MODE"), (Some(""), false, "works"));
        assert_eq!(told("DB_PASS"), (None, true, "works"));
        assert_eq!(told("LOG_LEVEL"), (Some("info"), false, "works"));
        assert_eq!(told("HOST_MAX_DISCONNECTION_TIME").2, "refused");
        assert!(of("HOST_MAX_DISCONNECTION_TIME").meaning.contains("soon"));
        assert_eq!(told("DEPLOY_TARGET"), (Some("k8s"), true, "harmless"));
        assert_eq!(told("OCM_SELF_TOKEN"), (None, true, "harmless"));
        assert_eq!(told("DUMMY_IGNITION"), (Some("true"), true, "refused"));
        assert!(
            all.iter().all(|one| one.name != "CLUSTER_MONITOR_INTERVAL"),
            "what is not set and not read is no news"
        );
        assert!(!format!("{all:?}").contains("hush"));
    }
}
