//! What an API server knows of the webhooks: in the definitions of the kinds that are converted, and in configurations.

use std::pin::Pin;

use assisted_kube::error::optional;
use assisted_kube::watch::events;
use assisted_kube::write::{self, Guard};
use assisted_kubeapi::webhook_server::rotator::{MANAGER, WebhookRegistration};
use assisted_kubeapi::webhook_server::target::Target;
use futures::stream::{Stream, StreamExt};
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ValidatingWebhook,
    ValidatingWebhookConfiguration,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceConversion, CustomResourceDefinition, ServiceReference, WebhookClientConfig,
    WebhookConversion,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;

use super::{CONVERT, Rule, Webhooks};

/// How long an API server waits for an answer.
const TIMEOUT_SECONDS: i32 = 10;

/// Where a provider's webhooks are, and what they answer for.
pub(super) struct RegisteredWebhooks {
    pub(super) webhooks: &'static Webhooks,
    pub(super) target: Target,
}

impl WebhookRegistration for RegisteredWebhooks {
    fn names(&self) -> Vec<String> {
        self.target.names()
    }

    fn events(&self, client: &Client) -> Vec<Pin<Box<dyn Stream<Item = ()> + Send>>> {
        let mut all = vec![
            named::<ValidatingWebhookConfiguration>(client, self.webhooks.name),
            named::<MutatingWebhookConfiguration>(client, self.webhooks.name),
        ];
        let definitions = self.webhooks.definitions.iter();
        all.extend(definitions.map(|name| named::<CustomResourceDefinition>(client, name)));
        all
    }

    async fn register(&self, client: &Client, bundle: &str) -> Result<(), kube::Error> {
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        for name in self.webhooks.definitions {
            // Whoever installs it later is told of by a watch.
            let Some(found) = optional(definitions.get(name).await)? else { continue };
            let mut after = found.clone();
            after.spec.conversion = Some(conversion(&self.target, Some(bundle)));
            write::object(&definitions, &found, &after, Guard::Version).await?;
        }
        let (validating, mutating) = configurations(self.webhooks, &self.target, Some(bundle));
        let params = PatchParams::apply(MANAGER).force();
        if let Some(validating) = validating {
            let api: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
            api.patch(self.webhooks.name, &params, &Patch::Apply(validating)).await?;
        }
        if let Some(mutating) = mutating {
            let api: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
            api.patch(self.webhooks.name, &params, &Patch::Apply(mutating)).await?;
        }
        Ok(())
    }
}

/// What happens to an object of a name.
fn named<K>(client: &Client, name: &str) -> Pin<Box<dyn Stream<Item = ()> + Send>>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Send + 'static,
    PartialObjectMeta<K>: Resource<DynamicType = ()> + DeserializeOwned,
{
    let api: Api<PartialObjectMeta<K>> = Api::all(client.clone());
    let own = watcher::Config::default().fields(&format!("metadata.name={name}"));
    events(api, own).map(drop).boxed()
}

/// How objects of a kind are converted.
pub(crate) fn conversion(target: &Target, bundle: Option<&str>) -> CustomResourceConversion {
    let asked = target.client(CONVERT, bundle);
    let client_config = WebhookClientConfig {
        ca_bundle: asked.ca_bundle,
        service: asked.service.map(|service| ServiceReference {
            name: service.name,
            namespace: service.namespace,
            path: service.path,
            port: service.port,
        }),
        url: asked.url,
    };
    CustomResourceConversion {
        strategy: "Webhook".to_owned(),
        webhook: Some(WebhookConversion {
            client_config: Some(client_config),
            conversion_review_versions: vec!["v1".to_owned()],
        }),
    }
}

/// How an API server asks about a rule. The API has a type of its own for each kind of webhook, and the two have these fields alike.
macro_rules! webhook {
    ($kind:ident, $rule:ident, $target:ident, $bundle:ident) => {
        $kind {
            admission_review_versions: vec!["v1".to_owned()],
            client_config: $target.client($rule.path, $bundle),
            failure_policy: Some("Fail".to_owned()),
            match_policy: Some(match_policy($rule).to_owned()),
            name: $rule.name.to_owned(),
            rules: Some(vec![matched($rule)]),
            side_effects: "None".to_owned(),
            timeout_seconds: Some(TIMEOUT_SECONDS),
            ..$kind::default()
        }
    };
}

/// The configurations by which an API server asks about the rules of a provider. Without a bundle somebody else fills it in.
pub fn configurations(
    webhooks: &Webhooks,
    target: &Target,
    bundle: Option<&str>,
) -> (Option<ValidatingWebhookConfiguration>, Option<MutatingWebhookConfiguration>) {
    let metadata = || ObjectMeta { name: Some(webhooks.name.to_owned()), ..ObjectMeta::default() };
    let (mutating, validating): (Vec<_>, Vec<_>) = webhooks.rules.iter().partition(|rule| rule.is_mutating);
    let validating: Vec<_> =
        validating.into_iter().map(|rule: &Rule| webhook!(ValidatingWebhook, rule, target, bundle)).collect();
    let mutating: Vec<_> =
        mutating.into_iter().map(|rule: &Rule| webhook!(MutatingWebhook, rule, target, bundle)).collect();
    let validating = (!validating.is_empty())
        .then(|| ValidatingWebhookConfiguration { metadata: metadata(), webhooks: Some(validating) });
    let mutating = (!mutating.is_empty())
        .then(|| MutatingWebhookConfiguration { metadata: metadata(), webhooks: Some(mutating) });
    (validating, mutating)
}

fn match_policy(rule: &Rule) -> &'static str {
    if rule.is_of_all_versions { "Equivalent" } else { "Exact" }
}

fn matched(rule: &Rule) -> RuleWithOperations {
    let [group, version, resource] = rule.resource.map(|text| vec![text.to_owned()]);
    RuleWithOperations {
        api_groups: Some(group),
        api_versions: Some(version),
        operations: Some(rule.operations.iter().map(|operation| (*operation).to_owned()).collect()),
        resources: Some(resource),
        scope: None,
    }
}
