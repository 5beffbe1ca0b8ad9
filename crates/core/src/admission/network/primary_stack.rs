//! The family that comes first in every list of a dual-stack cluster.

use super::lists::Lists;
use super::{family, number};
use crate::model::cluster::IpStack;
use crate::model::refusal::Refusal;

/// The primary family that the lists agree on; `None` while no list of networks has both.
pub fn of(lists: Lists<'_>) -> Result<Option<IpStack>, Refusal> {
    let named = lists.named();
    let networks = [lists.machine(), lists.service(), lists.cluster()];
    if !networks.iter().any(|list| super::dual_stack::has_both(list)) {
        return Ok(None);
    }
    let firsts = named.iter().filter_map(|(name, _, list)| {
        let first = *list.first()?;
        Some((*name, first, family(first)?))
    });
    let mut agreed: Option<(&str, &str, IpStack)> = None;
    for (name, first, stack) in firsts {
        match agreed {
            None => agreed = Some((name, first, stack)),
            Some((other, other_first, other_stack)) if other_stack != stack => {
                return Err(Refusal::invalid(format!(
                    "Inconsistent IP family order: {other} first IP is {other_first} but {name} first IP is {first}. All \
                     networks must have the same IP family first"
                )));
            }
            Some(_) => {}
        }
    }
    Ok(agreed.map(|(_, _, stack)| stack))
}

/// The primary family after an update: of all lists when all are given or none was known, else the known one, which each
/// given list must follow.
pub fn updated(given: Lists<'_>, known: Option<IpStack>) -> Result<Option<IpStack>, Refusal> {
    let named = given.named();
    if named.iter().all(|(_, present, _)| !present) {
        return Ok(known);
    }
    let Some(stack) = known.filter(|_| !named.iter().all(|(_, present, _)| *present)) else {
        return of(given);
    };
    for (name, _, list) in &named {
        let Some(first) = list.first() else { continue };
        if family(first).is_some_and(|given| given != stack) {
            return Err(Refusal::invalid(format!(
                "Inconsistent IP family order: {name} first IP is {first} but existing primary IP stack is IPv{}. All \
                 networks must have the same IP family first",
                number(stack)
            )));
        }
    }
    Ok(Some(stack))
}
