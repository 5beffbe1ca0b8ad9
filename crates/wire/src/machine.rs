//! What an agent reports of its machine when it registers, beside the contract: a header that other services pass over.

use serde::{Deserialize, Serialize};

/// The header that carries it, as JSON.
pub const HEADER: &str = "discovery_machine";

/// The header in which an agent shows a secret of its own: at its registration, and with each poll and reply after it. Other services
/// pass over it.
pub const KEY_HEADER: &str = "x-host-key";

/// Longer values, in bytes, identify no machine.
const LONGEST: usize = 4096;

/// By what a machine is known again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Serial number of the system; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub serial: String,
    /// Addresses of its network interfaces, in lower case.
    #[serde(default)]
    pub macs: Vec<String>,
}

impl Machine {
    /// The most addresses that are sent: one that stays is enough to be known by.
    pub const MOST_MACS: usize = 64;

    /// The text for the header; `None` when nothing is known, or it can't stand in a header.
    pub fn text(&self) -> Option<String> {
        let text = serde_json::to_string(self).ok()?;
        let known = !self.serial.is_empty() || !self.macs.is_empty();
        (known && text.len() <= LONGEST && text.bytes().all(|byte| (0x20..0x7f).contains(&byte)))
            .then_some(text)
    }

    /// What a header says; `None` when it identifies no machine.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let mut machine: Self = serde_json::from_str(text).ok()?;
        machine.macs.truncate(Self::MOST_MACS);
        machine.macs.iter_mut().for_each(|mac| mac.make_ascii_lowercase());
        (!machine.serial.is_empty() || !machine.macs.is_empty()).then_some(machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_read() {
        let machine = Machine { serial: "ABC123".into(), macs: vec!["52:54:00:00:00:01".into()] };
        assert_eq!(Machine::parse(&machine.text().unwrap()), Some(machine));
        assert_eq!(Machine::parse(r#"{"macs":["AA:bb"]}"#).unwrap().macs, ["aa:bb"]);
        for text in ["", "{}", "x", r#"{"serial":""}"#, &format!(r#"{{"serial":"{}"}}"#, "x".repeat(5000))] {
            assert_eq!(Machine::parse(text), None, "{text}");
        }
        assert_eq!(Machine::default().text(), None);
        assert_eq!(Machine { serial: "ü".into(), macs: Vec::new() }.text(), None);
    }
}
