//! What all operators of the cluster say, for an installation that can't be finished.

use assisted_base::error::chain;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::{Value, json};
use tracing::warn;

use crate::cluster::{CLUSTER_OPERATOR, operator_state};
use crate::context::Context;

/// The operators' states; nothing where they can't be had.
pub(super) async fn of_operators(context: &Context) -> Option<Value> {
    let operators = CLUSTER_OPERATOR.all(&context.kube).list(&ListParams::default()).await;
    let operators =
        operators.map_err(|error| warn!(error = chain(&error), "operators can't be listed")).ok()?;
    let reported = operators.items.iter().map(|operator| {
        let state = operator_state(operator);
        json!({"name": operator.name_any(), "status": state.status, "status_info": state.message})
    });
    Some(reported.collect())
}
