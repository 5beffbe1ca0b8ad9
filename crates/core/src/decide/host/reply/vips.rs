//! A host reports whether somebody answers at the VIPs already.

use assisted_wire::probe_requests::VipType;
use assisted_wire::probe_responses::VerifyVipsResponse;

use super::WorkingCopy;
use crate::model::refusal::Refusal;

/// Notes what was found of the cluster's VIPs; the last host to answer is believed.
pub(super) fn verified(draft: &mut WorkingCopy<'_>, response: &VerifyVipsResponse) -> Result<(), Refusal> {
    let Some(before) = &draft.facts.cluster else {
        return Err(Refusal::internal(format!("host {} is not bound to a cluster", draft.name())));
    };
    let mut after = before.clone();
    for found in response.0.iter().filter(|found| found.verification.is_some()) {
        match found.vip_type {
            Some(VipType::Api) => {
                let vips = after.cluster.api_vips.iter_mut().flatten();
                vips.filter(|vip| vip.ip == found.vip).for_each(|vip| vip.verification = found.verification);
            }
            Some(VipType::Ingress) => {
                let vips = after.cluster.ingress_vips.iter_mut().flatten();
                vips.filter(|vip| vip.ip == found.vip).for_each(|vip| vip.verification = found.verification);
            }
            None => {}
        }
    }
    if after != *before {
        after.cluster.updated_at = draft.facts.now.into();
        draft.cluster = Some(after);
    }
    Ok(())
}
