//! The row of either kind of object, and the pass that belongs to it.

use assisted_core::model::object_key::ObjectKey;
use assisted_reconcile::{Failure, MemoryRow, Outcome, Reconciler};

use super::hosted;
use super::reconcile::Operator;

impl Reconciler for Operator {
    type Row = MemoryRow<ObjectKey>;

    async fn reconcile(&self, row: &Self::Row) -> Result<Outcome, Failure> {
        // AgentServiceConfigs are in no namespace.
        if row.key.namespace.is_empty() {
            self.reconcile_config(&row.key.name).await
        } else {
            Box::pin(hosted::reconcile(self, &row.key)).await
        }
    }
}
