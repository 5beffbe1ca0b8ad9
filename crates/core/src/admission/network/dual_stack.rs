//! Clusters with both families: how their lists must look.

use assisted_base::version::at_least;
use assisted_wire::cluster::Cluster;

use super::family;
use super::lists::Lists;
use crate::model::cluster::IpStack;

/// Whether both families stand in one list.
pub fn has_both(list: &[&str]) -> bool {
    let has = |stack| list.iter().any(|text| family(text) == Some(stack));
    has(IpStack::V4) && has(IpStack::V6)
}

/// Whether one of the lists of networks has both families.
pub fn in_lists(lists: Lists<'_>) -> bool {
    has_both(&lists.machine()) || has_both(&lists.service()) || has_both(&lists.cluster())
}

/// Whether the cluster has both families.
pub fn is_dual(cluster: &Cluster) -> bool {
    in_lists(cluster.into())
}

/// Checks that each list that is not empty has one network of each family.
pub fn check_networks(lists: Lists<'_>, version: &str) -> Result<(), String> {
    for (name, list) in [
        ("machine networks", lists.machine()),
        ("service networks", lists.service()),
        ("cluster networks", lists.cluster()),
    ] {
        if list.is_empty() {
            continue;
        }
        if list.len() != 2 {
            return Err(format!("Expected 2 {name}, found {}", list.len()));
        }
        check_pair(name, "subnet", &list, version)?;
    }
    Ok(())
}

/// Checks that a pair is one of each family; before 4.12 IPv4 must come first.
pub fn check_pair(name: &str, unit: &str, list: &[&str], version: &str) -> Result<(), String> {
    let (Some(first), Some(second)) = (list.first(), list.get(1)) else { return Ok(()) };
    let families = (family(first), family(second));
    if at_least(version, 4, 12) {
        let has = |stack| families.0 == Some(stack) || families.1 == Some(stack);
        for (stack, text) in [(IpStack::V4, "IPv4"), (IpStack::V6, "IPv6")] {
            if !has(stack) {
                return Err(format!("dual-stack {name} must include exactly one {text} {unit}"));
            }
        }
        return Ok(());
    }
    if families.0 != Some(IpStack::V4) {
        return Err(format!(
            "First {name} has to be IPv4 {unit} (IPv6-primary dual-stack requires OpenShift 4.12+), got {first}"
        ));
    }
    if families.1 == Some(IpStack::V6) {
        Ok(())
    } else {
        Err(format!("Second {name} has to be IPv6 {unit}, got {second}"))
    }
}
