//! Rules on AgentClassifications (kube-api §5.2).

use assisted_core::admission::field::node_label;
use assisted_crd::agent_install::agent_classification::AgentClassification;
use assisted_crd::labels::label::CLASSIFICATION_PREFIX;

use super::verdict::{Denial, Verdict};
use super::webhook::{Change, Kind, Operation, Webhook};
use crate::classification::check;

/// The service labels Agents of which a query fails with a value that begins with this.
const RESERVED: &str = "QUERYERROR";

pub(super) struct AgentClassificationValidator;

impl Webhook for AgentClassificationValidator {
    type Object = AgentClassification;

    const NAME: &'static str = "agentclassificationvalidators";
    const KIND: Kind = Kind::Validating;
    const OPERATIONS: &'static [Operation] = &[Operation::Create, Operation::Update];

    fn review(change: &Change<AgentClassification>) -> Verdict {
        match change {
            Change::Create(new) => create(new),
            Change::Update { old, new } => update(old, new),
        }
    }
}

fn create(new: &AgentClassification) -> Verdict {
    let spec = &new.spec;
    let key = format!("{CLASSIFICATION_PREFIX}{}", spec.label_key);
    let mut wrong = Vec::new();
    let mut tell =
        |value: &str, reason: &str| wrong.push(format!("spec: Invalid value: {value:?}: {reason}"));
    if let Err(reason) = node_label::key(&key) {
        tell(&key, reason);
    }
    if let Err(reason) = node_label::value(&spec.label_value) {
        tell(&spec.label_value, reason);
    }
    if spec.label_value.starts_with(RESERVED) {
        tell(&spec.label_value, "label must not start with QUERYERROR as this is reserved");
    }
    if let Err(error) = check(&spec.query) {
        tell(&spec.query, &error.to_string());
    }
    match wrong.as_slice() {
        [] => Verdict::Allowed,
        [only] => Denial::bad_request(only).into(),
        several => Denial::bad_request(format!("[{}]", several.join(", "))).into(),
    }
}

fn update(old: &AgentClassification, new: &AgentClassification) -> Verdict {
    let (old, new) = (&old.spec, &new.spec);
    if (&old.label_key, &old.label_value) != (&new.label_key, &new.label_value) {
        return Denial::bad_request("Label modified: the specified label may not be modified after creation")
            .into();
    }
    Verdict::Allowed
}
