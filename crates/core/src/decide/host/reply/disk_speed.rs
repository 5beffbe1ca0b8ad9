//! A host measured how fast its installation disk is (agent-protocol §2.4.8).

use std::collections::BTreeMap;

use assisted_wire::embedded;
use assisted_wire::host::{DiskInfo, DiskSpeed};
use assisted_wire::probe_responses::DiskSpeedCheckResponse;
use assisted_wire::step::StepType;

use super::WorkingCopy;
use crate::catalogue::hardware::{SelectionInput, total};
use crate::model::event::catalogue;
use crate::model::facts::HostFacts;
use crate::model::refusal::Refusal;
use crate::model::report::ReportKind;

/// Most disks whose speed is kept: far more than a machine has.
const MOST_DISKS: usize = 256;

/// Notes the outcome. A slow disk gets an event, and is used all the same; one that can't be measured is not.
pub(super) fn measured(draft: &mut WorkingCopy<'_>, exit_code: i64, output: &str) -> Result<(), Refusal> {
    if output.is_empty() {
        // Another check runs already.
        return Ok(());
    }
    let response: DiskSpeedCheckResponse = draft.read(StepType::InstallationDiskSpeedCheck, output)?;
    if response.path.is_empty() {
        return Err(Refusal::invalid("the disk whose speed was measured is not told"));
    }
    let mut disks = known_disks(&draft.host)?;
    let speed = DiskSpeed { tested: true, exit_code, speed_ms: response.io_sync_duration };
    let path = response.path;
    disks.insert(path.clone(), DiskInfo { id: None, path: path.clone(), disk_speed: Some(speed) });
    if disks.len() > MOST_DISKS {
        return Err(Refusal::invalid(format!("speeds of more than {MOST_DISKS} disks")));
    }
    draft.put(ReportKind::DisksInfo, &disks)?;
    let (millis, host) = (response.io_sync_duration, &draft.host);
    if exit_code == 0 && threshold(draft).is_some_and(|threshold| millis > threshold) {
        let event = catalogue::DISK_SPEED_SLOWER_THAN_SUPPORTED
            .of_host(host, &[("host_disk", &path), ("fdatasync_duration", &millis)]);
        draft.events.push(event);
    }
    Ok(())
}

/// The longest that a synchronous write should take on a host in its role, milliseconds.
fn threshold(draft: &WorkingCopy<'_>) -> Option<i64> {
    let total =
        total(&draft.facts.policy.hardware.requirements, &SelectionInput::of(draft.facts, &draft.host))
            .ok()?;
    Some(total.installation_disk_speed_threshold_ms)
}

fn known_disks(host: &HostFacts) -> Result<BTreeMap<String, DiskInfo>, Refusal> {
    let disks = embedded::read(host.report(ReportKind::DisksInfo));
    disks.map(Option::unwrap_or_default).map_err(Refusal::internal)
}

/// Forgets what was measured of a disk.
pub(crate) fn forget(host: &mut HostFacts, disk: &str) -> Result<(), Refusal> {
    let mut disks = known_disks(host)?;
    if disks.remove(disk).is_some() {
        let text = embedded::write(&disks).map_err(Refusal::internal)?;
        host.put_report(ReportKind::DisksInfo, text.into());
    }
    Ok(())
}
