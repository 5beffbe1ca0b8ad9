//! The form in which a host's own nmstate applies settings: a policy that finds interfaces by their MAC addresses
//! (image-service §3.3).

use std::fmt::Write;

use assisted_wire::infra_env::MacInterfaceMapItem;
use serde_yaml_ng::{Mapping, Value};

use crate::{Error, yaml};

/// The policy of one host: captures of its interfaces, and its settings with the captured names.
///
/// # Errors
///
/// When the text is not YAML within bounds.
pub fn generate(network_yaml: &str, map: &[MacInterfaceMapItem]) -> Result<String, Error> {
    let mut state = yaml::parse(network_yaml)?;
    let has_interfaces = state.get("interfaces").is_some_and(Value::is_sequence);
    let mut policy = String::from("capture:\n");
    for (index, item) in map.iter().enumerate() {
        let mac = item.mac_address.to_ascii_uppercase();
        let _ = writeln!(policy, "  iface{index}: interfaces.mac-address == \"{mac}\"");
    }
    policy.push_str("desiredState:\n");
    if !has_interfaces {
        policy.push_str("  {}");
        return Ok(policy);
    }
    switch_off_dhcp(&mut state);
    let state = sorted(name_by_capture(state, map));
    let body = serde_yaml_ng::to_string(&state).map_err(|error| Error::Yaml(error.to_string()))?;
    for line in body.lines().filter(|line| !line.trim().is_empty()) {
        let _ = writeln!(policy, "  {line}");
    }
    policy.truncate(policy.trim_end().len());
    Ok(policy)
}

/// What does not say that it wants DHCP does not get it.
fn switch_off_dhcp(state: &mut Value) {
    let interfaces = state.get_mut("interfaces").and_then(Value::as_sequence_mut);
    for interface in interfaces.into_iter().flatten() {
        for (family, switches) in [("ipv4", &["dhcp"][..]), ("ipv6", &["dhcp", "autoconf"])] {
            let Some(family) = interface.get_mut(family).and_then(Value::as_mapping_mut) else { continue };
            for switch in switches {
                if !family.contains_key(*switch) {
                    family.insert((*switch).into(), false.into());
                }
            }
        }
    }
}

/// Puts captured names in place of logical ones; what members are called, and descriptions, stay.
fn name_by_capture(value: Value, map: &[MacInterfaceMapItem]) -> Value {
    match value {
        Value::String(text) => match map.iter().position(|item| item.logical_nic_name == text) {
            Some(index) => format!("{{{{ capture.iface{index}.interfaces.0.name }}}}").into(),
            None => Value::String(text),
        },
        Value::Sequence(items) => items.into_iter().map(|item| name_by_capture(item, map)).collect(),
        Value::Mapping(members) => members
            .into_iter()
            .map(|(name, member)| {
                let member = if name == "description" { member } else { name_by_capture(member, map) };
                (name, member)
            })
            .collect::<Mapping>()
            .into(),
        other => other,
    }
}

/// Members in alphabetical order, so that equal settings have equal texts.
fn sorted(value: Value) -> Value {
    match value {
        Value::Sequence(items) => items.into_iter().map(sorted).collect(),
        Value::Mapping(members) => {
            let mut members: Vec<_> =
                members.into_iter().map(|(name, member)| (name, sorted(member))).collect();
            members.sort_by(|(one, _), (other, _)| one.as_str().cmp(&other.as_str()));
            members.into_iter().collect::<Mapping>().into()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(mac: &str, name: &str) -> MacInterfaceMapItem {
        MacInterfaceMapItem { mac_address: mac.to_owned(), logical_nic_name: name.to_owned() }
    }

    #[test]
    fn names_are_captured_by_mac() {
        let yaml = "\
interfaces:
- name: 'eth0'
  type: ethernet
  description: eth0
  ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 24}]}
  ipv6: {enabled: true, dhcp: true}
- name: eth0.101
  type: vlan
  vlan: {base-iface: eth0, id: 101}
- name: type
  type: bond
  link-aggregation: {mode: active-backup, port: [eth0, type]}
";
        let map = [item("52:54:00:ab:00:01", "eth0"), item("52:54:00:ab:00:02", "type")];
        let policy = generate(yaml, &map).unwrap();
        assert!(policy.starts_with(
            "capture:\n  iface0: interfaces.mac-address == \"52:54:00:AB:00:01\"\n  iface1: interfaces.mac-address == \
             \"52:54:00:AB:00:02\"\ndesiredState:\n  interfaces:\n"
        ));
        let parsed: Value = serde_yaml_ng::from_str(&policy).unwrap();
        let interfaces = &parsed["desiredState"]["interfaces"];
        let captured =
            |index: usize| Value::from(format!("{{{{ capture.iface{index}.interfaces.0.name }}}}"));
        assert_eq!(interfaces[0]["name"], captured(0));
        assert_eq!(interfaces[0]["description"], "eth0");
        assert_eq!(interfaces[0]["ipv4"]["dhcp"], false);
        assert_eq!(
            (&interfaces[0]["ipv6"]["dhcp"], &interfaces[0]["ipv6"]["autoconf"]),
            (&true.into(), &false.into())
        );
        assert_eq!(
            (&interfaces[1]["name"], &interfaces[1]["vlan"]["base-iface"]),
            (&"eth0.101".into(), &captured(0))
        );
        assert_eq!((&interfaces[2]["name"], &interfaces[2]["type"]), (&captured(1), &"bond".into()));
        assert_eq!(
            interfaces[2]["link-aggregation"]["port"],
            Value::Sequence(vec![captured(0), captured(1)])
        );
        assert!(!policy.ends_with('\n'));
    }

    #[test]
    fn nothing_to_apply() {
        assert_eq!(generate("dns-resolver: {}", &[]).unwrap(), "capture:\ndesiredState:\n  {}");
    }
}
