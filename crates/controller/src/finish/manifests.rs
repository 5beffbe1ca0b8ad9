//! Objects that configure operators, applied as an administrator would: the controller's own account may not.
//!
//! Each object is applied once its operator has been brought, in the order in which they were made, and again and again until the
//! API takes it: its kind may come with the operator, its namespace with another object, a webhook may not answer yet. What an API
//! says of an object itself (it is invalid) no attempt changes; a field that its kind doesn't have is left out. What is left when the time is up has a reason, which is told of the
//! operator.

use std::fmt;

use assisted_base::error::chain;
use assisted_wire::operator::MonitoredOperator;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::{Scope, pinned_kind};
use kube::{Api, Client, ResourceExt};
use serde::Deserialize;
use tracing::{info, warn};

use crate::cluster::of_kubeconfig;
use crate::context::Context;
use crate::error::ReconcileError;

/// Who the objects' fields belong to.
const MANAGER: &str = "assisted-installer-controller";
const FILE: &str = "custom_manifests.json";

/// The manifests of one operator.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "Name")]
    name: String,
    /// YAML, in base64.
    #[serde(rename = "Content")]
    content: String,
}

/// The objects of all operators, and what has become of each.
pub(super) struct Manifests(Vec<Manifest>);

struct Manifest {
    operator: String,
    /// Kind and name, for people.
    name: String,
    state: State,
}

enum State {
    /// Not applied yet, and why.
    Pending(Box<DynamicObject>, String),
    Applied,
    /// It will not be applied, and why.
    Refused(String),
}

/// Why objects of an operator are not applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Pending(String),
    Refused(String),
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pending(reason) => write!(f, "its objects are not applied yet: {reason}"),
            Self::Refused(reason) => write!(f, "its objects can't be applied: {reason}"),
        }
    }
}

impl Manifests {
    /// Reads what the service has made for the cluster.
    pub(super) async fn load(context: &Context) -> Result<Self, ReconcileError> {
        let bytes = context.service.file(FILE).await?;
        let entries: Vec<Entry> = serde_json::from_slice(&bytes).map_err(ReconcileError::malformed(FILE))?;
        Ok(Self(entries.into_iter().flat_map(Self::of_entry).collect()))
    }

    fn of_entry(Entry { name: operator, content }: Entry) -> Vec<Manifest> {
        let manifest = |name, state| Manifest { operator: operator.clone(), name, state };
        let yaml = STANDARD.decode(&content).map_err(ReconcileError::malformed("its base64"));
        let read = yaml.and_then(|yaml| documents(&yaml));
        match read {
            Ok(objects) => objects
                .into_iter()
                .map(|object| {
                    let name = display(&object);
                    manifest(name, State::Pending(Box::new(object), "its operator is not there".to_owned()))
                })
                .collect(),
            Err(error) => vec![manifest("manifests".to_owned(), State::Refused(chain(&error)))],
        }
    }

    /// Applies what is left of some operators, in order; one that fails holds up none of the others.
    pub(super) async fn apply(
        &mut self,
        context: &Context,
        ready: &[MonitoredOperator],
    ) -> Result<(), ReconcileError> {
        let mut administrator: Option<Client> = None;
        for Manifest { operator, name, state } in &mut self.0 {
            let State::Pending(object, reason) = state else { continue };
            if !ready.iter().any(|ready| ready.name == *operator) {
                continue;
            }
            let kube = match &administrator {
                Some(kube) => kube,
                None => administrator.insert(self::administrator(context).await?),
            };
            match apply_one(kube, object).await {
                Ok(()) => {
                    info!(operator, object = name, "applied");
                    *state = State::Applied;
                }
                Err(error) => {
                    let text = chain(&error);
                    warn!(operator, object = name, error = text, "not applied");
                    if is_terminal(&error) {
                        *state = State::Refused(text);
                    } else {
                        *reason = text;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether nothing is left that another attempt may apply, as far as these operators go.
    pub(super) fn are_settled(&self, ready: &[MonitoredOperator]) -> bool {
        let of = |manifest: &&Manifest| ready.iter().any(|ready| ready.name == manifest.operator);
        self.0.iter().filter(of).all(|manifest| !matches!(manifest.state, State::Pending(..)))
    }

    /// What of an operator's objects is not applied: what never will be, else the first that may be.
    pub(super) fn unapplied(&self, operator: &str) -> Option<Left> {
        let own = || self.0.iter().filter(|manifest| manifest.operator == operator);
        let refused = own().find_map(|Manifest { name, state, .. }| match state {
            State::Refused(reason) => Some(Left::Refused(format!("{name}: {reason}"))),
            State::Pending(..) | State::Applied => None,
        });
        refused.or_else(|| {
            own().find_map(|Manifest { name, state, .. }| match state {
                State::Pending(_, reason) => Some(Left::Pending(format!("{name}: {reason}"))),
                State::Refused(_) | State::Applied => None,
            })
        })
    }
}

fn display(object: &DynamicObject) -> String {
    let kind = object.types.as_ref().map_or("object", |types| types.kind.as_str());
    match object.namespace() {
        Some(namespace) => format!("{kind} {namespace}/{}", object.name_any()),
        None => format!("{kind} {}", object.name_any()),
    }
}

/// Whether no other attempt can succeed: the API finds fault with the object itself. A webhook that refuses may do so because
/// what it looks at is not there yet.
fn is_terminal(error: &ReconcileError) -> bool {
    match error {
        ReconcileError::Malformed { .. } => true,
        ReconcileError::Kube(error) => match &**error {
            kube::Error::Api(status) => {
                matches!(status.code, 400 | 422) && !status.message.starts_with("admission webhook")
            }
            _ => false,
        },
        _ => false,
    }
}

/// The cluster's API, asked as its administrator.
pub(crate) async fn administrator(context: &Context) -> Result<Client, ReconcileError> {
    let file = context.service.kubeconfig().await?;
    Ok(of_kubeconfig(file.path()).await?)
}

/// The documents of a YAML text, without empty ones.
fn documents(yaml: &[u8]) -> Result<Vec<DynamicObject>, ReconcileError> {
    let mut objects = Vec::new();
    for document in serde_yaml_ng::Deserializer::from_slice(yaml) {
        let value =
            serde_yaml_ng::Value::deserialize(document).map_err(ReconcileError::malformed("a manifest"))?;
        if !value.is_null() {
            objects.push(serde_yaml_ng::from_value(value).map_err(ReconcileError::malformed("a manifest"))?);
        }
    }
    Ok(objects)
}

/// Applies all documents of a YAML text, as far as they can be applied.
pub(crate) async fn apply(kube: &Client, yaml: &[u8]) -> Result<(), ReconcileError> {
    let mut failed = Vec::new();
    for object in documents(yaml)? {
        if let Err(error) = apply_one(kube, &object).await {
            failed.push((display(&object), error));
        }
    }
    ReconcileError::of_several(failed)
}

async fn apply_one(kube: &Client, object: &DynamicObject) -> Result<(), ReconcileError> {
    let types = object.types.clone().unwrap_or_default();
    let kind = GroupVersionKind::try_from(&types).map_err(ReconcileError::malformed("its kind"))?;
    let (resource, capabilities) = pinned_kind(kube, &kind).await?;
    let objects: Api<DynamicObject> = match capabilities.scope {
        Scope::Cluster => Api::all_with(kube.clone(), &resource),
        Scope::Namespaced => {
            let namespace = object.namespace().unwrap_or_else(|| "default".to_owned());
            Api::namespaced_with(kube.clone(), &namespace, &resource)
        }
    };
    let params = PatchParams::apply(MANAGER).force();
    match objects.patch(&object.name_any(), &params, &Patch::Apply(object)).await {
        Err(kube::Error::Api(status)) if is_undeclared(&status.message) => {
            let name = display(object);
            warn!(object = name, error = status.message, "written without what the API doesn't know");
            write_declared(&objects, object).await?;
        }
        outcome => drop(outcome?),
    }
    Ok(())
}

/// Whether a field that the kind's schema lacks keeps an object from being applied: versions of operators drop fields with which
/// their objects are written for all versions.
fn is_undeclared(message: &str) -> bool {
    message.contains("field not declared in schema")
}

/// Writes what the API knows of an object. A field that it doesn't know, it leaves out of what is written in this way.
async fn write_declared(objects: &Api<DynamicObject>, object: &DynamicObject) -> Result<(), kube::Error> {
    let name = object.name_any();
    if objects.get_opt(&name).await?.is_none() {
        let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        return objects.create(&params, object).await.map(drop);
    }
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    objects.patch(&name, &params, &Patch::Merge(object)).await.map(drop)
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn refused(code: u16, message: &str) -> ReconcileError {
        kube::Error::Api(Box::new(Status::failure(message, "Reason").with_code(code))).into()
    }

    #[test]
    fn what_another_attempt_may_change() {
        assert!(is_terminal(&refused(422, "spec.size: Invalid value")));
        assert!(is_terminal(&refused(400, "unknown field")));
        assert!(!is_terminal(&refused(400, "admission webhook \"v.example.com\" denied the request: wait")));
        for code in [404, 409, 429, 500, 503] {
            assert!(!is_terminal(&refused(code, "not now")), "{code}");
        }
        assert!(!is_terminal(&ReconcileError::not_yet("soon")));
    }

    #[test]
    fn what_is_left_is_told_with_its_reason() {
        let entry = |name: &str, content: &str| Entry { name: name.to_owned(), content: content.to_owned() };
        let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n---\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: c}\n";
        let entries = [entry("odf", &STANDARD.encode(yaml)), entry("cnv", "!"), entry("loki", "")];
        let mut all = Manifests(entries.into_iter().flat_map(Manifests::of_entry).collect());
        let names: Vec<_> = all.0.iter().map(|manifest| manifest.name.as_str()).collect();
        assert_eq!(names, ["ConfigMap b/a", "Secret c", "manifests"]);
        assert_eq!(
            all.unapplied("odf").map(|left| left.to_string()).as_deref(),
            Some("its objects are not applied yet: ConfigMap b/a: its operator is not there")
        );
        assert!(matches!(all.unapplied("cnv"), Some(Left::Refused(_))));
        assert_eq!(all.unapplied("loki"), None);
        let odf = [MonitoredOperator { name: "odf".to_owned(), ..MonitoredOperator::default() }];
        assert!(!all.are_settled(&odf));
        all.0[0].state = State::Applied;
        all.0[1].state = State::Refused("spec: Invalid value".to_owned());
        assert!(all.are_settled(&odf));
        assert_eq!(all.unapplied("odf"), Some(Left::Refused("Secret c: spec: Invalid value".to_owned())));
    }
}
