//! A host reported its inventory: disks are evaluated, and one is chosen to install on (state-machines §4.15).

use std::sync::Arc;

use assisted_wire::host::HostRole;
use assisted_wire::inventory::{Interface, Inventory};
use assisted_wire::step::StepType;

use super::{WorkingCopy, bounds};
use crate::decide::measure::of_interfaces;
use crate::disk::annotate;
use crate::model::disk;
use crate::model::event::catalogue;
use crate::model::facts::{Facts, HostFacts};
use crate::model::refusal::Refusal;
use crate::model::report::ReportKind;
use crate::state::host::state::{self, UPDATABLE};

/// Types of interfaces that are kept; agents that report no type report only physical ones.
const REAL: [&str; 4] = ["", "physical", "vlan", "bond"];

/// Types of further interfaces that an event names at most.
const MOST_TYPES: usize = 256;

pub(super) fn received(draft: &mut WorkingCopy<'_>, output: &str) -> Result<(), Refusal> {
    let status = draft.host.record.host.status;
    if !UPDATABLE.contains(&status) {
        let reason = format!(
            "Host is in {status} state, host can be updated only in one of {} states",
            state::list(UPDATABLE)
        );
        return Err(Refusal::internal(reason));
    }
    let mut inventory: Inventory = draft.read(StepType::Inventory, output)?;
    let hosts = &draft.facts.policy.hosts;
    measure_interfaces(draft, &inventory);
    if !hosts.enable_virtual_interfaces
        && let Some(interfaces) = &mut inventory.interfaces
    {
        interfaces.retain(is_real);
    }
    bounds::shorten_inventory(&mut inventory);
    if !hosts.bootstrap_host_mac.is_empty() {
        let mut macs = inventory.interfaces.iter().flatten().map(|interface| interface.mac_address.as_str());
        let fields = &mut draft.host.record.host;
        if macs.any(|mac| mac.eq_ignore_ascii_case(&hosts.bootstrap_host_mac)) && !fields.bootstrap {
            (fields.role, fields.bootstrap) = (Some(HostRole::Master), true);
            draft.events.push(catalogue::HOST_BOOTSTRAP_SET.of_host(&draft.host, &[]));
        }
    }
    evaluate(draft.facts, &mut draft.host, inventory)?;
    bounds::keep(ReportKind::Inventory, draft.host.report(ReportKind::Inventory))
}

fn is_real(interface: &Interface) -> bool {
    REAL.contains(&interface.r#type.as_str())
}

/// Leaves an event when a host has another number of real interfaces than before.
fn measure_interfaces(draft: &mut WorkingCopy<'_>, new: &Inventory) {
    let count =
        |inventory: &Inventory| inventory.interfaces.iter().flatten().filter(|one| is_real(one)).count();
    let known = draft.host.inventory.as_deref().map(count);
    let others = new.interfaces.iter().flatten().filter(|one| !is_real(one));
    let others = others.map(|one| one.r#type.clone()).take(MOST_TYPES).collect();
    if let Some(measured) = of_interfaces(&draft.host, known, count(new), others) {
        draft.events.extend(measured.events());
    }
}

/// Checks the disks of an inventory anew, keeps it, and chooses the disks that follow from it.
pub(crate) fn evaluate(facts: &Facts, host: &mut HostFacts, mut inventory: Inventory) -> Result<(), Refusal> {
    disk::fill_ids(&mut inventory);
    annotate(facts, host, &mut inventory).map_err(Refusal::internal)?;
    let text = serde_json::to_string(&inventory).map_err(Refusal::internal)?;
    let (path, id) = disk::installation_disk(&host.record.host, &inventory)
        .map_or_else(Default::default, |disk| (format!("/dev/{}", disk.name), disk.id.clone()));
    let fields = &mut host.record.host;
    (fields.installation_disk_path, fields.installation_disk_id) = (path, id);
    fields.disks_to_be_formatted = disk::to_be_formatted(&inventory);
    host.reports.insert(ReportKind::Inventory, text.into());
    host.inventory = Some(Arc::new(inventory));
    Ok(())
}
