//! Whether a host that registers again is the machine that it was: an id alone is no secret, and two boards may have the same.

use std::net::IpAddr;
use std::time::Duration;

use assisted_wire::host::HostStatus;
use assisted_wire::machine::Machine;
use jiff::{SignedDuration, Timestamp};

use super::steps::longest_pause;
use crate::model::decision::Decision;
use crate::model::facts::HostFacts;
use crate::model::refusal_with_events::RefusalWithEvents;

/// Where a registration comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// What the agent reports of its machine; agents of the replaced service report nothing.
    pub machine: Option<Machine>,
    /// What is kept of the key that the agent shows; agents of the replaced service have none.
    pub key: Option<Box<str>>,
    /// The other side of the connection.
    pub peer: Option<IpAddr>,
}

/// What makers leave in place of a serial number (lower case).
const NO_SERIAL: &[&str] =
    &["", "unknown", "none", "(none)", "-", "0", "default string", "not specified", "to be filled by o.e.m."];

/// For so long an agent is awaited after the time at which it was to poll, seconds. It is no shorter while agents poll every second:
/// a request that is lost on its way is given up after minutes, and asked anew ever more seldom.
const PATIENCE: i64 = 30;

/// Why a registration under a known id is not that host's; `None`: it is, as far as can be known.
///
/// An agent that reports its machine is held to it: to the serial number or one of the addresses that the host has registered
/// or reported with. A host whose agent reported once is not taken over by an agent that keeps silent. Of agents that always kept
/// silent only the connection is known: a host that registered from an address of its own, and is being installed, does not
/// register from elsewhere.
pub fn stranger(host: &HostFacts, origin: &Origin) -> Option<&'static str> {
    let record = &host.record;
    if record.machine_released {
        return None;
    }
    let Some(told) = &origin.machine else {
        if record.machine.is_some() {
            return Some("its agent tells of its machine, and the one that registers does not");
        }
        return is_elsewhere(host, origin)
            .then_some("it registers from an address that is none of the host's");
    };
    let mut known = record.machine.clone().unwrap_or_default();
    if let Some(inventory) = host.inventory.as_deref() {
        if known.serial.is_empty() {
            known.serial = inventory
                .system_vendor
                .as_ref()
                .map(|vendor| vendor.serial_number.clone())
                .unwrap_or_default();
        }
        let interfaces = inventory.interfaces.iter().flatten();
        known.macs.extend(interfaces.map(|interface| interface.mac_address.to_ascii_lowercase()));
    }
    known.macs.retain(|mac| !mac.is_empty());
    let nothing_known = is_placeholder(&known.serial) && known.macs.is_empty();
    let same_serial = !is_placeholder(&told.serial) && told.serial == known.serial;
    let same_mac = told.macs.iter().any(|mac| known.macs.contains(mac));
    (!nothing_known && !same_serial && !same_mac)
        .then_some("neither the serial number nor an address of its machine is the host's")
}

/// Whether a host that reached the service directly, and must not be disturbed now, seems to register from another place.
fn is_elsewhere(host: &HostFacts, origin: &Origin) -> bool {
    let status = host.record.host.status;
    let precious = matches!(
        status,
        HostStatus::PreparingForInstallation
            | HostStatus::PreparingSuccessful
            | HostStatus::Installing
            | HostStatus::InstallingInProgress
            | HostStatus::InstallingPendingUserAction
    );
    let (Some(before), Some(now), Some(inventory)) =
        (host.record.registered_from, origin.peer, host.inventory.as_deref())
    else {
        return false;
    };
    let own = |ip: IpAddr| {
        let interfaces = inventory.interfaces.iter().flatten();
        let addresses = interfaces.flat_map(|interface| {
            interface.ipv4_addresses.iter().flatten().chain(interface.ipv6_addresses.iter().flatten())
        });
        addresses.filter_map(|text| text.split('/').next()?.parse::<IpAddr>().ok()).any(|known| known == ip)
    };
    precious && now != before && own(before) && !own(now)
}

/// How long an agent without the host's key has to wait until it may register, because the one that has the key was heard a moment ago.
/// What tells a machine from others can be read by all that have the token of its infra-env: it lets in whoever comes after that agent,
/// and nobody beside it.
pub fn still_there(host: &HostFacts, origin: &Origin, now: Timestamp) -> Option<Duration> {
    let record = &host.record;
    if record.agent_key.is_none() || record.agent_key == origin.key || record.machine_released {
        return None;
    }
    let limit = SignedDuration::from_secs(longest_pause(host) + PATIENCE);
    // Where the clock was ahead, it was heard in the future: now.
    let silence = now.duration_since(host.checked_in_at).max(SignedDuration::ZERO);
    (silence < limit).then(|| (limit - silence).unsigned_abs())
}

fn is_placeholder(serial: &str) -> bool {
    NO_SERIAL.contains(&serial.trim().to_lowercase().as_str())
}

/// Lets the next registration under a host's id be another machine's: its board was changed, or its agent is another one.
///
/// # Errors
///
/// None: it harms nobody who is not there.
pub fn release_machine(host: &HostFacts, now: Timestamp) -> Result<Decision, RefusalWithEvents> {
    let mut after = host.clone();
    after.record.machine_released = true;
    Ok(Decision::of_host(host, after, now, Vec::new()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::host::HostRecord;

    fn host(status: &str, more: &serde_json::Value) -> HostFacts {
        let mut record = json!({"host": {
            "kind": "Host", "id": "00000000-0000-4000-8000-000000000001", "href": "", "status": status, "status_info": "",
        }});
        record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let record: HostRecord = serde_json::from_value(record).unwrap();
        let mut host = HostFacts::new(record, Timestamp::UNIX_EPOCH);
        let inventory = json!({
            "system_vendor": {"serial_number": "S1"},
            "interfaces": [
                {"mac_address": "52:54:00:00:00:0A", "ipv4_addresses": ["10.0.0.5/24"], "ipv6_addresses": []},
            ],
        });
        host.inventory = Some(std::sync::Arc::new(serde_json::from_value(inventory).unwrap()));
        host
    }

    fn reported(serial: &str, mac: &str) -> Origin {
        let machine = Machine { serial: serial.to_owned(), macs: vec![mac.to_owned()] };
        Origin { machine: Some(machine), ..Origin::default() }
    }

    #[test]
    fn a_machine_is_known_by_its_serial_or_an_address() {
        for status in ["known", "installing-in-progress", "installed"] {
            for known in
                [host(status, &json!({})), host(status, &json!({"machine": {"serial": "S1", "macs": []}}))]
            {
                for (origin, same) in [
                    (reported("S1", "52:54:00:00:00:0f"), true),
                    (reported("S2", "52:54:00:00:00:0a"), true),
                    (reported("S2", "52:54:00:00:00:0f"), false),
                    (reported("", "52:54:00:00:00:0f"), false),
                ] {
                    assert_eq!(stranger(&known, &origin).is_none(), same, "{status} {origin:?}");
                }
            }
        }
        // What makers leave in place of a serial number proves nothing.
        let placeholder =
            host("known", &json!({"machine": {"serial": "None", "macs": ["52:54:00:00:00:0b"]}}));
        assert!(stranger(&placeholder, &reported("None", "52:54:00:00:00:0f")).is_some());
        // Nothing is known of it.
        let mut blank = host("discovering", &json!({}));
        blank.inventory = None;
        assert_eq!(stranger(&blank, &reported("S2", "52:54:00:00:00:0f")), None);
    }

    #[test]
    fn silence_does_not_take_over_what_has_told() {
        let silent = Origin::default();
        assert!(stranger(&host("known", &json!({"machine": {"serial": "S1"}})), &silent).is_some());
        assert_eq!(stranger(&host("installing", &json!({})), &silent), None);
        let released = host("known", &json!({"machine": {"serial": "S1"}, "machine_released": true}));
        assert_eq!(stranger(&released, &silent), None);
        assert_eq!(stranger(&released, &reported("S2", "x")), None);
    }

    #[test]
    fn nobody_registers_beside_the_agent_that_has_the_key() {
        let shows = |key: &str| Origin { key: Some(key.into()), ..Origin::default() };
        let after = |seconds| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds);
        let held = host("known", &json!({"agent_key": "one"}));
        for (origin, seconds, left) in [
            (shows("one"), 0, None),
            (shows("two"), 60, Some(30)),
            (Origin::default(), 89, Some(1)),
            // The machine was started anew, and what it had in memory is gone.
            (shows("two"), 90, None),
            (Origin::default(), 90, None),
            // The clock was ahead when it was heard.
            (shows("two"), -3600, Some(90)),
        ] {
            let left = left.map(Duration::from_secs);
            assert_eq!(still_there(&held, &origin, after(seconds)), left, "{origin:?} {seconds}");
        }
        let released = host("known", &json!({"agent_key": "one", "machine_released": true}));
        assert_eq!(still_there(&released, &shows("two"), after(0)), None);
        assert_eq!(still_there(&host("known", &json!({})), &shows("two"), after(0)), None);
    }

    #[test]
    fn an_agent_that_was_told_a_longer_pause_is_awaited_for_longer() {
        let other = Origin { key: Some("two".into()), ..Origin::default() };
        for (status, longest) in [
            ("insufficient-unbound", 90),
            ("installing-in-progress", 90),
            ("unbinding", 90),
            ("disabled-unbound", 150),
            ("reclaiming-rebooting", 150),
        ] {
            let held = host(status, &json!({"agent_key": "one"}));
            let left = still_there(&held, &other, Timestamp::UNIX_EPOCH);
            assert_eq!(left, Some(Duration::from_secs(longest)), "{status}");
        }
        // What it was told is not what its new state tells.
        let mut held = host("known-unbound", &json!({"agent_key": "one"}));
        held.record.host.status_updated_at = (Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1)).into();
        let left = still_there(&held, &other, Timestamp::UNIX_EPOCH + SignedDuration::from_secs(120));
        assert_eq!(left, Some(Duration::from_secs(30)));
    }

    #[test]
    fn a_host_that_is_installed_does_not_register_from_elsewhere() {
        let from = |ip: &str| Origin { peer: Some(ip.parse().unwrap()), ..Origin::default() };
        let direct = |status| host(status, &json!({"registered_from": "10.0.0.5"}));
        for status in ["preparing-for-installation", "installing", "installing-in-progress"] {
            assert!(stranger(&direct(status), &from("10.0.0.66")).is_some(), "{status}");
            assert_eq!(stranger(&direct(status), &from("10.0.0.5")), None, "{status}");
        }
        assert_eq!(stranger(&direct("known"), &from("10.0.0.66")), None);
        // Behind a proxy, addresses prove nothing.
        let proxied = host("installing", &json!({"registered_from": "192.168.1.1"}));
        assert_eq!(stranger(&proxied, &from("192.168.1.2")), None);
    }
}
