//! The cluster that a config is of.

use serde_json::Value;

/// What the config is made from, as clients of the API see it.
#[derive(Clone, Debug, Default)]
pub struct Input {
    pub cluster: Value,
    /// The cluster's hosts; the inventory of each is an object.
    pub hosts: Vec<Value>,
    /// The infra-envs that are bound to the cluster.
    pub infra_envs: Vec<Value>,
    pub pull_secret: String,
    /// What the user lays over the config; empty: nothing.
    pub overrides: String,
    /// Registries that are read elsewhere.
    pub mirrors: Vec<(String, Vec<String>)>,
    /// Authorities that the service adds.
    pub authorities: Vec<String>,
    /// Whether networks of IPv6 come first.
    pub ipv6_first: bool,
    /// The networks of the addresses that nodes are to choose, where those are not the cluster's machine networks.
    pub node_networks: Option<Vec<String>>,
}

impl Input {
    /// A text of the cluster; empty where there is none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.cluster[name].as_str().unwrap_or_default()
    }

    /// One text of each element of a list of the cluster.
    pub(super) fn texts(&self, list: &str, name: &str) -> Vec<String> {
        let elements = self.cluster[list].as_array().into_iter().flatten();
        elements.filter_map(|element| element[name].as_str().map(str::to_owned)).collect()
    }

    /// The platform by the name that the config has for it.
    pub(super) fn platform(&self) -> &str {
        self.cluster["platform"]["type"].as_str().unwrap_or("baremetal")
    }

    /// Whether the user provides the networking.
    pub(super) fn is_unmanaged(&self) -> bool {
        matches!(self.platform(), "none" | "external") || self.cluster["user_managed_networking"] == true
    }

    /// Whether there is one control plane node.
    pub(super) fn is_single_node(&self) -> bool {
        self.cluster["control_plane_count"] == 1
    }

    /// The hosts that play a role, whether it was asked for or suggested.
    pub(super) fn of_role(&self, role: &str) -> impl Iterator<Item = &Value> {
        self.hosts.iter().filter(move |host| {
            let asked = host["role"].as_str().unwrap_or("auto-assign");
            let suggested = host["suggested_role"].as_str().unwrap_or("auto-assign");
            role == if asked == "auto-assign" { suggested } else { asked }
        })
    }

    /// The host that brings the others up.
    pub(super) fn bootstrap(&self) -> Option<&Value> {
        self.hosts.iter().find(|host| host["bootstrap"] == true)
    }

    /// Whether two control plane nodes switch each other off (install-generation §2.5).
    pub(super) fn is_fencing(&self) -> bool {
        let given = |host: &Value| host["fencing_credentials"].as_str().is_some_and(|text| !text.is_empty());
        self.cluster["control_plane_count"] == 2
            && self.of_role("arbiter").next().is_none()
            && self.of_role("master").count() == 2
            && self.of_role("master").all(given)
    }

    /// Major and minor number of the version.
    fn minor(&self) -> (u32, u32) {
        let mut numbers =
            self.text("openshift_version").split(['.', '-']).map(|part| part.parse().unwrap_or(0));
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    }

    /// Whether the version is below this one.
    pub(super) fn is_before(&self, major: u32, minor: u32) -> bool {
        self.minor() < (major, minor)
    }

    /// Whether features that are not finished are switched on (install-generation §2.5).
    pub(super) fn is_preview(&self) -> bool {
        let with_arbiter = self.of_role("arbiter").next().is_some();
        (with_arbiter && self.minor() == (4, 19)) || (self.is_fencing() && self.is_before(4, 22))
    }

    /// Whether the cluster is one of those that a place of the table names; `None` for a place that means nothing.
    pub(super) fn is_of(&self, place: &str) -> Option<bool> {
        if let Some((when, version)) = place.split_once(' ') {
            let (major, minor) = version.split_once('.')?;
            let before = self.is_before(major.parse().ok()?, minor.parse().ok()?);
            return match when {
                "before" => Some(before),
                "from" => Some(!before),
                _ => None,
            };
        }
        match place {
            "" => Some(true),
            "proxy" => Some(!self.text("http_proxy").is_empty() || !self.text("https_proxy").is_empty()),
            "arbiter" => Some(self.of_role("arbiter").next().is_some()),
            "fencing" => Some(self.is_fencing()),
            "preview" => Some(self.is_preview()),
            "single-node" => Some(self.is_single_node() && matches!(self.platform(), "none" | "external")),
            "baremetal" | "none" | "external" | "vsphere" | "nutanix" => Some(self.platform() == place),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::install_config::table::TABLE;

    #[test]
    fn every_place_of_the_table_means_something() {
        let input = Input { cluster: json!({"openshift_version": "4.13.9-ec.1"}), ..Input::default() };
        for row in &TABLE.rows {
            assert!(input.is_of(&row.place).is_some(), "{}: {}", row.path, row.place);
        }
        assert_eq!((input.is_of("before 4.14"), input.is_of("from 4.14")), (Some(true), Some(false)));
        assert_eq!((input.is_of("before 4.13"), input.is_of("from 4.13")), (Some(false), Some(true)));
        assert_eq!((input.is_of("during 4.13"), input.is_of("mars")), (None, None));
    }
}
