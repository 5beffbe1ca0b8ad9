//! Which features a cluster uses, kept with it as text for its users and for statistics (service-api §18.2).

use std::collections::BTreeMap;

use assisted_wire::support_level::Usage;
use serde_json::Value;

use crate::model::embedded;

/// Whose Ignition config is overridden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overridden {
    Host,
    InfraEnv,
}

/// The features in use, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usages(BTreeMap<String, Usage>);

impl Usages {
    /// Reads what a cluster keeps; what can't be read counts as nothing.
    pub fn read(field: &str) -> Self {
        Self(embedded::feature_usage(field).unwrap_or_default())
    }

    /// The text that a cluster keeps.
    pub fn write(&self) -> String {
        assisted_wire::embedded::write(&self.0).unwrap_or_default()
    }

    /// Notes that a feature is used, or that it no longer is.
    pub fn set(&mut self, name: &str, used: bool) {
        self.set_with(name, used, []);
    }

    /// As [`Self::set`], with further facts.
    pub fn set_with<const N: usize>(&mut self, name: &str, used: bool, data: [(&str, Value); N]) {
        if !used {
            self.0.remove(name);
            return;
        }
        let data: BTreeMap<_, _> = data.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let usage = Usage {
            id: name.to_uppercase().replace(' ', "_").replace('.', ""),
            name: name.to_owned(),
            data: if data.is_empty() { None } else { Some(data) },
        };
        self.0.insert(name.to_owned(), usage);
    }

    /// Notes that a user gave a host a name.
    pub fn set_requested_hostname(&mut self) {
        self.set_with("Requested hostname", true, [("host_count", 1.into())]);
    }

    /// Notes whether the Ignition config of hosts or of an infra-env is overridden; of the other it keeps what was noted.
    pub fn set_ignition_override(&mut self, of: Overridden, used: bool) {
        const NAME: &str = "Ignition Config Override";
        let noted = |key: &str| {
            let data = self.0.get(NAME).and_then(|usage| usage.data.as_ref());
            data.and_then(|data| data.get(key)).and_then(Value::as_bool).unwrap_or_default()
        };
        let host = if of == Overridden::Host { used } else { noted("host") };
        let infra_env = if of == Overridden::InfraEnv { used } else { noted("infra-env") };
        let data = [("host", host.into()), ("infra-env", infra_env.into())];
        self.set_with(NAME, host || infra_env, data);
    }

    /// Notes that the install config is overridden, and in which members.
    pub fn set_install_config_overrides(&mut self, members: Vec<String>) {
        const NAME: &str = "Install Config Overrides";
        self.set(NAME, true);
        if let (Some(usage), false) = (self.0.get_mut(NAME), members.is_empty()) {
            usage.data = Some(members.into_iter().map(|member| (member, Value::Bool(true))).collect());
        }
    }

    /// Whether a feature is used.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Names of the features in use, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overrides_of_hosts_and_infra_envs_stand_side_by_side() {
        let mut usages = Usages::default();
        let text = |host, infra_env| {
            format!(
                r#"{{"Ignition Config Override":{{"id":"IGNITION_CONFIG_OVERRIDE","name":"Ignition Config Override","data":{{"host":{host},"infra-env":{infra_env}}}}}}}"#
            )
        };
        usages.set_ignition_override(Overridden::InfraEnv, true);
        assert_eq!(usages.write(), text(false, true));
        usages.set_ignition_override(Overridden::Host, true);
        assert_eq!(usages.write(), text(true, true));
        usages.set_ignition_override(Overridden::InfraEnv, false);
        assert_eq!(usages.write(), text(true, false));
        usages.set_ignition_override(Overridden::Host, false);
        assert_eq!(usages, Usages::default());
        usages.set_requested_hostname();
        assert_eq!(
            usages.write(),
            r#"{"Requested hostname":{"id":"REQUESTED_HOSTNAME","name":"Requested hostname","data":{"host_count":1}}}"#
        );
    }

    #[test]
    fn set_and_removed() {
        let mut usages = Usages::read("");
        usages.set("VIP auto alloc.", true);
        usages.set_with("Additional NTP Source", true, [("source_count", 2.into())]);
        let text = usages.write();
        assert_eq!(
            text,
            r#"{"Additional NTP Source":{"id":"ADDITIONAL_NTP_SOURCE","name":"Additional NTP Source","data":{"source_count":2}},"VIP auto alloc.":{"id":"VIP_AUTO_ALLOC","name":"VIP auto alloc."}}"#
        );
        let mut read = Usages::read(&text);
        assert_eq!(read, usages);
        read.set("VIP auto alloc.", false);
        assert_eq!(read.names().collect::<Vec<_>>(), ["Additional NTP Source"]);
        assert_eq!(Usages::read("not json"), Usages::default());
    }
}
