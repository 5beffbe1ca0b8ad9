//! The operators of the cluster that the service waits for: the console, and the one of the cluster's version. Each is
//! available when the service has taken note of it (installer-and-controller §B6.1).

use assisted_base::error::chain;
use assisted_wire::operator::{MonitoredOperator, OperatorMonitorReport, OperatorStatus};
use kube::api::DynamicObject;
use serde_json::Value;
use tracing::{info, warn};

use crate::cluster::{CLUSTER_OPERATOR, CLUSTER_VERSION, OperatorState, cluster_version, operator_state};
use crate::context::Context;
use crate::error::ReconcileError;

const CONSOLE: &str = "console";
const VERSION: &str = "cvo";

/// Tells the service what is new; true when it knows all of them as available.
pub(super) async fn are_available(context: &Context) -> bool {
    let available = reconcile(context).await;
    available
        .map_err(|error| warn!(error = chain(&error), "the cluster's operators are not known"))
        .unwrap_or(false)
}

async fn reconcile(context: &Context) -> Result<bool, ReconcileError> {
    let versions = CLUSTER_VERSION.all(&context.kube);
    let version = versions.get("version").await?;
    let known = context.service.operators().await?;
    let of = |name: &str| known.iter().find(|operator| operator.name == name);
    let mut available = true;
    if has_console(&version) {
        let console = async || {
            CLUSTER_OPERATOR.all(&context.kube).get(CONSOLE).await.map(|object| operator_state(&object))
        };
        available &= is_available(context, of(CONSOLE), console).await;
    }
    if context.config.check_cluster_version {
        available &= is_available(context, of(VERSION), async || Ok(cluster_version(&version))).await;
    }
    Ok(available)
}

/// Whether the cluster has a console: unless it knows the capability and leaves it out.
fn has_console(version: &DynamicObject) -> bool {
    let lists = |list: &str| {
        let capabilities =
            version.data.pointer("/status/capabilities").and_then(|capabilities| capabilities.get(list));
        capabilities.and_then(Value::as_array).into_iter().flatten().any(|name| name == "Console")
    };
    lists("enabledCapabilities") || !lists("knownCapabilities")
}

/// Whether the service knows an operator as available; if not, what is new is reported to it.
pub(super) async fn is_available(
    context: &Context,
    known: Option<&MonitoredOperator>,
    state: impl AsyncFnOnce() -> Result<OperatorState, kube::Error>,
) -> bool {
    let Some(known) = known else { return false };
    if known.status == Some(OperatorStatus::Available) {
        return true;
    }
    let state = match state().await {
        Ok(state) => state,
        Err(error) => {
            warn!(operator = known.name, error = chain(&error), "its state is not known");
            return false;
        }
    };
    let says_more = !state.message.is_empty() && state.message != known.status_info;
    if known.status == Some(state.status) && !says_more {
        return false;
    }
    report(context, &known.name, &state).await && state.status == OperatorStatus::Available
}

/// Tells the service the state of an operator; true when it has taken it.
pub(super) async fn report(context: &Context, name: &str, state: &OperatorState) -> bool {
    let report = OperatorMonitorReport {
        name: name.to_owned(),
        version: state.version.clone(),
        status: Some(state.status),
        status_info: state.message.clone(),
    };
    match context.service.operator(&report).await {
        Ok(()) => {
            info!(operator = name, status = %state.status, message = state.message, "the state of the operator is reported");
            true
        }
        Err(error) => {
            warn!(operator = name, error = chain(&error), "its state is not taken");
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_console_is_there_unless_it_was_left_out() {
        for (capabilities, expected) in [
            (json!(null), true),
            (json!({"enabledCapabilities": [], "knownCapabilities": ["Console"]}), false),
            (json!({"enabledCapabilities": ["Console"], "knownCapabilities": ["Console"]}), true),
            (json!({"knownCapabilities": ["Storage"]}), true),
        ] {
            let object = json!({"metadata": {}, "status": {"capabilities": capabilities}});
            assert_eq!(has_console(&serde_json::from_value(object).unwrap()), expected);
        }
    }
}
