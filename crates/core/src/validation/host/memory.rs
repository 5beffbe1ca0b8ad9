//! `has-min-memory`, `has-memory-for-role`: enough memory for any role, and for the role it has.

use assisted_wire::inventory::{Memory, MemoryMethod};

use super::View;
use crate::catalogue::hardware::{MEMORY_TOLERANCE_MIB, bytes};
use crate::model::outcome::Outcome;

const MIB: i64 = 1 << 20;

pub(super) fn check_minimum(view: &View<'_>) -> Outcome {
    let Some(memory) = memory(view) else { return Outcome::awaits_inventory("Missing inventory") };
    let required = view.minimum.ram_mib;
    // What the kernel reports lacks more than what the firmware does.
    let by_kernel = memory.physical_bytes_method == Some(MemoryMethod::Meminfo);
    let tolerance = MEMORY_TOLERANCE_MIB + if by_kernel { required / 50 } else { 0 };
    let (found, least) = (bytes::binary(memory.physical_bytes), bytes::binary_mib(required));
    let outcome = if memory.physical_bytes >= (required - tolerance).saturating_mul(MIB) {
        Outcome::success("Sufficient minimum RAM")
    } else {
        Outcome::failure(format!(
            "The host is not eligible to participate in Openshift Cluster because the minimum required RAM for any \
             role is {least}, found only {found}"
        ))
        .remedy("Add memory to the machine, or use another one.")
    };
    outcome.measured(found).required(least)
}

pub(super) fn check_for_role(view: &View<'_>) -> Outcome {
    let Some(memory) = memory(view) else { return Outcome::awaits_inventory("Missing inventory or role") };
    let (required, role) = (view.total.ram_mib, view.role);
    let (found, least) = (bytes::binary(memory.physical_bytes), bytes::binary_mib(required));
    let outcome = if memory.physical_bytes >= (required - MEMORY_TOLERANCE_MIB).saturating_mul(MIB) {
        Outcome::success(format!("Sufficient RAM for role {role}"))
    } else {
        Outcome::failure(format!("Require at least {least} RAM for role {role}, found only {found}"))
            .remedy("Give the host another role, add memory to the machine, or use another one.")
    };
    outcome.measured(found).required(least)
}

fn memory<'a>(view: &View<'a>) -> Option<&'a Memory> {
    view.inventory?.memory.as_ref()
}
