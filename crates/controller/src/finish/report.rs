//! What all operators of the cluster say, for an installation that can't be finished.

use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::{Value, json};
use tracing::warn;

use crate::cluster::{CLUSTER_OPERATOR, operator_state};
use crate::run::Around;

/// The operators' states; nothing where they can't be had.
pub(super) async fn of_operators(around: &Around<'_>) -> Option<Value> {
    let operators = CLUSTER_OPERATOR.all(&around.kube).list(&ListParams::default()).await;
    let operators = operators.map_err(|error| warn!(%error, "operators can't be listed")).ok()?;
    let told = operators.items.iter().map(|operator| {
        let state = operator_state(operator);
        json!({"name": operator.name_any(), "status": state.status, "status_info": state.message})
    });
    Some(told.collect())
}
