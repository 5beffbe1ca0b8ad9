//! The configurations by which an API server knows whom to ask, about what, and whom to trust.

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ValidatingWebhook,
    ValidatingWebhookConfiguration,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::table::{Entry, WEBHOOKS};
use super::webhook::Kind;
use super::{GROUP, NAME, VERSION};
pub use crate::webhook_server::target::Target;

/// How long an API server waits for an answer; a lookup of a cluster takes half of it at the most.
const TIMEOUT_SECONDS: i32 = 10;

/// A request that nobody judges is refused: an object that contradicts itself does more harm than one that comes later.
const FAILURE_POLICY: &str = "Fail";

/// The configuration of one webhook.
#[derive(Clone, Debug, PartialEq)]
pub enum Configuration {
    Validating(ValidatingWebhookConfiguration),
    Mutating(MutatingWebhookConfiguration),
}

/// The label of all configurations.
pub fn labels() -> BTreeMap<String, String> {
    BTreeMap::from([("app".to_owned(), NAME.to_owned())])
}

/// Path of a webhook.
pub fn path(entry: &Entry) -> String {
    format!("/apis/{GROUP}/{VERSION}/{}", entry.name)
}

/// Name of a webhook and of its configuration.
pub fn name(entry: &Entry) -> String {
    format!("{}.{GROUP}", entry.name)
}

/// The configurations of all webhooks. Without a bundle somebody else fills it in.
pub fn configurations(target: &Target, ca_bundle: Option<&str>) -> Vec<Configuration> {
    WEBHOOKS.iter().map(|entry| configuration(entry, target, ca_bundle)).collect()
}

fn configuration(entry: &Entry, target: &Target, ca_bundle: Option<&str>) -> Configuration {
    let name = name(entry);
    let metadata = ObjectMeta { name: Some(name.clone()), labels: Some(labels()), ..ObjectMeta::default() };
    let client_config = target.client(&path(entry), ca_bundle);
    let [group, version, resource] = (entry.resource)();
    let rules = vec![RuleWithOperations {
        api_groups: Some(vec![group]),
        api_versions: Some(vec![version]),
        operations: Some(entry.operations.iter().map(|operation| operation.as_str().to_owned()).collect()),
        resources: Some(vec![resource]),
        scope: None,
    }];
    let versions = vec!["v1".to_owned()];
    let (failure_policy, side_effects) = (Some(FAILURE_POLICY.to_owned()), "None".to_owned());
    match entry.kind {
        Kind::Validating => {
            let webhook = ValidatingWebhook {
                admission_review_versions: versions,
                client_config,
                failure_policy,
                name,
                rules: Some(rules),
                side_effects,
                timeout_seconds: Some(TIMEOUT_SECONDS),
                ..ValidatingWebhook::default()
            };
            Configuration::Validating(ValidatingWebhookConfiguration {
                metadata,
                webhooks: Some(vec![webhook]),
            })
        }
        Kind::Mutating => {
            let webhook = MutatingWebhook {
                admission_review_versions: versions,
                client_config,
                failure_policy,
                name,
                rules: Some(rules),
                side_effects,
                timeout_seconds: Some(TIMEOUT_SECONDS),
                ..MutatingWebhook::default()
            };
            Configuration::Mutating(MutatingWebhookConfiguration { metadata, webhooks: Some(vec![webhook]) })
        }
    }
}
