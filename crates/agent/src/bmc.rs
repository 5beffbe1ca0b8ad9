//! Asking the management controller of the running machine for its addresses (agent-protocol §3.3).
//!
//! Only where the kernel found a controller: each question costs a process, and there are dozens.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::time::Duration;

use assisted_base::process::Cmd;
use assisted_hostinfo::bmc::{lan_address, lan6_address, lan6_enabled};
use tracing::debug;

/// The kernel's names for the first controller.
const DEVICES: [&str; 3] = ["/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0"];

const CHANNELS: std::ops::RangeInclusive<u8> = 1..=12;

/// Limit for one question.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// Limit for all questions: a controller that is busy with itself must not hold the inventory back.
const LIMIT: Duration = Duration::from_secs(60);

/// What the management controller reports; `None` where it has no address, or none is to be had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Addresses {
    pub(crate) v4: Option<Ipv4Addr>,
    pub(crate) v6: Option<Ipv6Addr>,
}

/// The tool that speaks IPMI, and the devices that make asking worthwhile.
#[derive(Debug)]
pub(crate) struct Ipmi {
    tool: Cmd,
    devices: Vec<PathBuf>,
}

impl Default for Ipmi {
    fn default() -> Self {
        Self { tool: Cmd::new("ipmitool"), devices: DEVICES.iter().map(PathBuf::from).collect() }
    }
}

impl Ipmi {
    pub(crate) async fn addresses(&self) -> Addresses {
        if !self.devices.iter().any(|device| device.exists()) {
            return Addresses::default();
        }
        let mut found = Addresses::default();
        let asked = tokio::time::timeout(LIMIT, async {
            found.v4 = self.v4().await;
            found.v6 = self.v6().await;
        });
        if asked.await.is_err() {
            debug!(?found, "the management controller is too slow");
        }
        found
    }

    async fn v4(&self) -> Option<Ipv4Addr> {
        for channel in CHANNELS {
            let output = self.ask(&["lan", "print", &channel.to_string()]).await;
            if let Some(ip) = output.and_then(|text| lan_address(&text)) {
                return Some(ip);
            }
        }
        None
    }

    async fn v6(&self) -> Option<Ipv6Addr> {
        for channel in CHANNELS {
            let channel = channel.to_string();
            let print = |what| ["lan6", "print", channel.as_str(), what];
            if !self.ask(&print("enables")).await.is_some_and(|text| lan6_enabled(&text)) {
                continue;
            }
            for kind in ["dynamic_addr", "static_addr"] {
                let output = self.ask(&print(kind)).await;
                if let Some(ip) = output.and_then(|text| lan6_address(&text)) {
                    return Some(ip);
                }
            }
        }
        None
    }

    /// What the tool prints; `None` for a channel that there is not, and whatever else goes wrong.
    async fn ask(&self, args: &[&str]) -> Option<String> {
        match self.tool.clone().args(args).timeout(ANSWER_LIMIT).run().await {
            Ok(output) if output.success() && !output.stderr.starts_with(b"Invalid channel") => {
                Some(output.text())
            }
            Ok(output) => {
                debug!(?args, code = output.code(), "the management controller doesn't say");
                None
            }
            Err(error) => {
                debug!(?args, %error, "the management controller can't be asked");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tool that notes what it is asked, and answers on some channels as a real one does.
    fn tool(dir: &tempfile::TempDir) -> Ipmi {
        let path = dir.path().join("ipmitool");
        let script = format!(
            r#"echo "$*" >> {}/asked
case "$*" in
  "lan print 1") echo "Invalid channel: 1" >&2; echo "IP Address : 10.0.0.1" ;;
  "lan print 2") echo "IP Address : 10.0.0.2"; exit 1 ;;
  "lan print 3") echo "IP Address Source : Static Address"; echo "IP Address : 0.0.0.0" ;;
  "lan print 8") echo "IP Address : 10.0.0.8" ;;
  "lan6 print 3 enables") echo "IPv6/IPv4 Addressing Enables: ipv4" ;;
  "lan6 print 4 enables") echo "IPv6/IPv4 Addressing Enables: both" ;;
  "lan6 print 4 static_addr")
    printf 'Static Address 0:\n  Enabled: yes\n  Address: fd00::4/64\n  Status: active\n' ;;
  *) exit 1 ;;
esac
"#,
            dir.path().display()
        );
        std::fs::write(&path, script).unwrap();
        let device = dir.path().join("ipmi0");
        std::fs::write(&device, "").unwrap();
        Ipmi { tool: Cmd::new("sh").arg(path), devices: vec![device] }
    }

    #[tokio::test]
    async fn each_channel_is_asked_until_one_answers() {
        let dir = tempfile::tempdir().unwrap();
        let found = tool(&dir).addresses().await;
        assert_eq!(found, Addresses { v4: "10.0.0.8".parse().ok(), v6: "fd00::4".parse().ok() });
        let asked = std::fs::read_to_string(dir.path().join("asked")).unwrap();
        assert_eq!(asked.lines().filter(|line| line.starts_with("lan print")).count(), 8);
        assert!(
            asked.ends_with("lan6 print 4 enables\nlan6 print 4 dynamic_addr\nlan6 print 4 static_addr\n")
        );
    }

    #[tokio::test]
    async fn without_a_controller_nothing_is_run() {
        let dir = tempfile::tempdir().unwrap();
        let ipmi = Ipmi { devices: vec![dir.path().join("none")], ..tool(&dir) };
        assert_eq!(ipmi.addresses().await, Addresses::default());
        assert!(!dir.path().join("asked").exists());
    }

    #[tokio::test]
    async fn without_the_tool_nothing_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let ipmi = Ipmi { tool: Cmd::new("/no/such/tool"), ..tool(&dir) };
        assert_eq!(ipmi.addresses().await, Addresses::default());
    }
}
