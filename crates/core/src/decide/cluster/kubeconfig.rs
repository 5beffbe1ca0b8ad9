//! The kubeconfig that trusts the cluster's own ingress: no installation is complete without it (state-machines §9).

use crate::decide::refresh::WorkingCopy;
use crate::model::decision::Decision;
use crate::model::facts::Facts;

/// The kubeconfig was stored. Told twice, it changes nothing.
pub fn stored(facts: &Facts) -> Decision {
    let mut draft = WorkingCopy::new(facts);
    if let Some(record) = &mut draft.facts.cluster {
        record.kubeconfig_stored = true;
    }
    draft.reconciled()
}
