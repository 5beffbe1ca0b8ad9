//! An iSCSI disk's session, and whether the firmware will find the disk again at the next boot.

use super::device::Device;
use crate::Root;

const FIRMWARE: &str = "/sys/firmware/ibft";

/// The initiator's host and session, such as `host2` and `session1`, where they are known.
#[derive(Debug, Default)]
pub(super) struct Session {
    host: Option<String>,
    session: Option<String>,
}

impl Session {
    /// From the device's place: `/sys/devices/platform/host2/session1/…`, or deeper for a hardware initiator.
    pub(super) fn find(root: &Root, device: &Device) -> Self {
        let place = root.resolve(&device.sys()).unwrap_or_default();
        let parts: Vec<&str> = place.split('/').collect();
        let at =
            parts.windows(2).position(|pair| is_numbered(pair[0], "host") && is_numbered(pair[1], "session"));
        let part = |offset: usize| Some((*parts.get(at? + offset)?).to_owned());
        Self { host: part(0), session: part(1) }
    }

    /// The initiator's address; empty where unknown.
    pub(super) fn host_address(&self, root: &Root) -> String {
        let host = self.host.as_ref();
        host.and_then(|host| root.text(&format!("/sys/class/iscsi_host/{host}/ipaddress")))
            .unwrap_or_default()
    }

    /// What speaks against installing, if anything.
    pub(super) fn objection(&self, root: &Root, device: &Device) -> Option<&'static str> {
        match root.text(&format!("{}/device/state", device.sys())).as_deref() {
            None => return Some("Failed to read state of iSCSI disk"),
            Some("running") => {}
            Some(_) => return Some("iSCSI disk is not in running state"),
        }
        let Some(session) = &self.session else { return Some("Cannot find iSCSI session") };
        let Some(target) = root.text(&format!("/sys/class/iscsi_session/{session}/targetname")) else {
            return Some("Cannot find iSCSI target name");
        };
        if !root.exists(FIRMWARE) {
            return Some("iBFT firmware is missing");
        }
        let entries = root.list(FIRMWARE).into_iter().filter(|name| name.starts_with("target"));
        let mut names = entries.filter_map(|entry| root.text(&format!("{FIRMWARE}/{entry}/target-name")));
        (!names.any(|name| name == target)).then_some("iSCSI disk is missing from iBFT")
    }
}

fn is_numbered(part: &str, prefix: &str) -> bool {
    part.strip_prefix(prefix)
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}
