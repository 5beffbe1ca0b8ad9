//! Reads what the desired objects depend on: the config, secrets, and the kind of the cluster.

use std::collections::BTreeMap;

use assisted_crd::agent_install::agent_service_config::AgentServiceConfig;
use assisted_kube::error::optional;
use assisted_seal::{Key, SealError};
use assisted_wire::secret::Secret as Text;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::{GroupVersionKind, PartialObjectMeta};
use kube::{Api, Client, Error, ResourceExt};
use rand::Rng;
use rcgen::KeyPair;

use super::conditions::{ReconcileError, reasons};
use super::desired::{annotation_of, claim_name};
use super::environment::{Distribution, Environment};
use super::facts::{DatabaseAccess, Facts, Fresh, IngressCertificate, Keys, OperatorPod};
use super::validate::{os_image_authorities, os_image_params};
use super::{
    ACM, CLUSTER_AUTHORITIES, DATABASE_SECRET, IMAGE_SERVICE, INGRESS_AUTHORITIES, KEYS_SECRET, MANAGED_BY,
    MCE, SEAL_SECRET, SERVICE, annotation,
};
use crate::admission::certificate::Stored;
use crate::webhook_server::profile;

/// Where OpenShift tells the authorities of its default ingress.
pub(super) const MANAGED_NAMESPACE: &str = "openshift-config-managed";

/// What the operator may be part of, in the order in which it is looked for (kube-api §14, 40): the name of it, namespace and name of the
/// Deployment that brings it, and the container there that tells the version.
const DISTRIBUTIONS: [(&str, &str, &str, &str); 2] =
    [("ACM", "open-cluster-management", ACM, ACM), ("MCE", "multicluster-engine", MCE, "backplane-operator")];

/// Definitions by which it is known what a cluster has.
const OPENSHIFT: &str = "clusterversions.config.openshift.io";
const SERVICE_MONITORS: &str = "servicemonitors.monitoring.coreos.com";

/// Why facts are missing.
#[derive(Debug, thiserror::Error)]
pub(super) enum GatherError {
    #[error("the API server refused")]
    Api(#[from] Error),
    #[error(transparent)]
    ReconcileError(#[from] ReconcileError),
}

/// Whether the cluster is OpenShift.
pub(super) async fn is_openshift(client: &Client) -> Result<bool, Error> {
    has_kind(client, OPENSHIFT).await
}

pub(super) async fn has_kind(client: &Client, name: &str) -> Result<bool, Error> {
    let api: Api<PartialObjectMeta<CustomResourceDefinition>> = Api::all(client.clone());
    Ok(api.get_opt(name).await?.is_some())
}

/// Reads everything that the objects depend on; they are in `namespace`.
pub(super) async fn facts(
    client: &Client,
    environment: &Environment,
    namespace: &str,
    config: &AgentServiceConfig,
) -> Result<Facts, GatherError> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let is_openshift = is_openshift(client).await?;
    let prefix = annotation_of(config, annotation::SECRET_PREFIX);

    let mut facts = Facts {
        is_openshift,
        has_service_monitors: has_kind(client, SERVICE_MONITORS).await?,
        operator: operator_pod(client, environment).await?,
        distribution: distribution(client, environment).await?,
        claims: claims(client, namespace, config).await?,
        has_image_service: Api::<StatefulSet>::namespaced(client.clone(), namespace)
            .get_opt(IMAGE_SERVICE)
            .await?
            .is_some(),
        keys: keys(secrets.get_opt(&format!("{prefix}{KEYS_SECRET}")).await?),
        database: secrets
            .get_opt(&format!("{prefix}{DATABASE_SECRET}"))
            .await?
            .and_then(|secret| Some(DatabaseAccess { password: text(&secret, "db.password")?.into() })),
        has_seal_keys: secrets.get_opt(&format!("{prefix}{SEAL_SECRET}")).await?.is_some(),
        ..Facts::default()
    };
    let spec = &config.spec;
    if let Some(reference) = &spec.mirror_registry_ref {
        facts.mirror = maps.get_opt(&reference.name).await?.map(|map| map.data.unwrap_or_default());
    }
    let more = annotation_of(config, annotation::SETTINGS);
    if !more.is_empty() {
        facts.settings = maps.get_opt(more).await?.map(|map| map.data.unwrap_or_default());
    }
    if let Some(reference) = spec.os_image_ca_cert_ref.as_ref().filter(|reference| !reference.name.is_empty())
    {
        let name = &reference.name;
        let map = maps.get_opt(name).await?.ok_or_else(|| {
            ReconcileError::new(
                reasons::OS_IMAGE_CA_CERT_REF,
                format!("there is no ConfigMap {name}, which OSImageCACertRef names"),
            )
        })?;
        facts.os_image_authorities = Some(os_image_authorities(&map.data.unwrap_or_default())?);
    }
    if let Some(reference) =
        spec.os_image_additional_params_ref.as_ref().filter(|reference| !reference.name.is_empty())
    {
        let name = &reference.name;
        let secret = secrets.get_opt(name).await?.ok_or_else(|| {
            ReconcileError::new(
                reasons::OS_IMAGE_ADDITIONAL_PARAMS_REF,
                format!("there is no Secret {name}, which OSImageAdditionalParamsRef names"),
            )
        })?;
        os_image_params(secret.data.iter().flatten().map(|(member, _)| member))?;
        let members = secret.data.iter().flatten().map(|(member, _)| member);
        let members = members.filter_map(|member| Some((member.clone(), Text::from(text(&secret, member)?))));
        facts.os_image_params = Some(members.collect());
    }
    if is_openshift {
        facts.tls = profile::read(client).await?;
        let managed: Api<ConfigMap> = Api::namespaced(client.clone(), MANAGED_NAMESPACE);
        let authorities = managed.get_opt(INGRESS_AUTHORITIES).await?;
        facts.ingress_authorities = authorities.map(|map| map.data.unwrap_or_default());
        let trusted = maps.get_opt(CLUSTER_AUTHORITIES).await?.and_then(|map| map.data);
        facts.cluster_authorities = trusted.and_then(|mut data| data.remove("ca-bundle.crt"));
        facts.route_hosts = route_hosts(client, namespace).await?;
    } else {
        let secret = secrets.get_opt(&format!("{SERVICE}-ingress")).await?;
        facts.ingress_certificate = secret.map_or(IngressCertificate::Missing, |secret| ingress(&secret));
    }
    Ok(facts)
}

fn text(secret: &Secret, key: &str) -> Option<String> {
    String::from_utf8(secret.data.as_ref()?.get(key)?.0.clone()).ok()
}

fn keys(secret: Option<Secret>) -> Option<Keys> {
    let secret = secret?;
    Some(Keys {
        private: text(&secret, "ec-private-key.pem")?.into(),
        public: text(&secret, "ec-public-key.pem")?,
    })
}

fn ingress(secret: &Secret) -> IngressCertificate {
    if secret.labels().get(MANAGED_BY.0).map(String::as_str) != Some(MANAGED_BY.1) {
        return IngressCertificate::Foreign { authorities: text(secret, "ca.crt").unwrap_or_default() };
    }
    let stored = || {
        Some(Stored {
            bundle: text(secret, "ca.crt")?,
            authority_key: text(secret, "ca.key")?.into(),
            certificate: text(secret, "tls.crt")?,
            key: text(secret, "tls.key")?.into(),
        })
    };
    stored().map_or(IngressCertificate::Missing, IngressCertificate::Own)
}

async fn operator_pod(client: &Client, environment: &Environment) -> Result<OperatorPod, GatherError> {
    let Some(name) = &environment.pod_name else { return Ok(OperatorPod::default()) };
    let pods: Api<Pod> = Api::namespaced(client.clone(), &environment.namespace);
    let spec = pods.get(name).await?.spec.unwrap_or_default();
    Ok(OperatorPod {
        image: spec.containers.into_iter().next().and_then(|container| container.image).unwrap_or_default(),
        node_selector: spec.node_selector.unwrap_or_default(),
        tolerations: spec.tolerations.unwrap_or_default(),
        pull_secrets: spec.image_pull_secrets.unwrap_or_default(),
    })
}

/// What the operator is part of, as it is told or as the hub tells it.
async fn distribution(client: &Client, environment: &Environment) -> Result<Option<Distribution>, Error> {
    if environment.distribution.is_some() {
        return Ok(environment.distribution.clone());
    }
    for (name, namespace, deployment, container) in DISTRIBUTIONS {
        let api: Api<Deployment> = Api::namespaced(client.clone(), namespace);
        let Some(found) = api.get_opt(deployment).await? else { continue };
        let pod = found.spec.and_then(|spec| spec.template.spec).unwrap_or_default();
        let container = pod.containers.into_iter().find(|found| found.name == container);
        let mut variables = container.and_then(|container| container.env).into_iter().flatten();
        let version = variables.find(|variable| variable.name == "OPERATOR_VERSION");
        let version = version.and_then(|variable| variable.value).filter(|version| !version.is_empty());
        let version = version.unwrap_or_else(|| "Unknown".to_owned());
        return Ok(Some(Distribution { name: name.to_owned(), version }));
    }
    Ok(None)
}

async fn claims(
    client: &Client,
    namespace: &str,
    config: &AgentServiceConfig,
) -> Result<BTreeMap<String, k8s_openapi::api::core::v1::PersistentVolumeClaimSpec>, Error> {
    let api: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), namespace);
    let mut claims = BTreeMap::new();
    for name in [super::FILES_CLAIM, super::DATABASE_CLAIM] {
        let name = claim_name(config, name);
        if let Some(spec) = api.get_opt(&name).await?.and_then(|claim| claim.spec) {
            claims.insert(name, spec);
        }
    }
    Ok(claims)
}

async fn route_hosts(client: &Client, namespace: &str) -> Result<BTreeMap<String, String>, Error> {
    let kind = GroupVersionKind::gvk("route.openshift.io", "v1", "Route");
    let resource = ApiResource::from_gvk_with_plural(&kind, "routes");
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
    let routes = optional(api.list(&ListParams::default()).await)?.map(|list| list.items).unwrap_or_default();
    let host =
        |route: &DynamicObject| Some((route.name_any(), route.data["spec"]["host"].as_str()?.to_owned()));
    Ok(routes.iter().filter_map(host).collect())
}

/// What is made once can't be made.
#[derive(Debug, thiserror::Error)]
pub enum FreshError {
    #[error("a key that signs can't be made")]
    Signing(#[from] rcgen::Error),
    #[error("a key that seals can't be made")]
    Sealing(#[from] SealError),
}

/// Makes what is made once, of what is not there.
pub(super) fn fresh(facts: &Facts, now: Timestamp) -> Result<Fresh, FreshError> {
    let mut fresh = Fresh { keys: None, password: None, seal_keys: None, now };
    if facts.keys.is_none() {
        let key = KeyPair::generate()?;
        fresh.keys = Some(Keys { private: key.serialize_pem().into(), public: key.public_key_pem() });
    }
    if facts.database.is_none() {
        fresh.password = Some(password().into());
    }
    if !facts.has_seal_keys {
        fresh.seal_keys = Some(assisted_seal::Keys::of(Key::generate()?).text().as_str().into());
    }
    Ok(fresh)
}

/// A password of sixteen signs.
fn password() -> String {
    let letters: Vec<char> =
        (40..=125_u8).map(char::from).filter(|letter| !matches!(letter, '`' | '\\')).collect();
    let mut random = rand::rng();
    (0..16).map(|_| letters[random.random_range(0..letters.len())]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_long_and_unlike() {
        let (one, other) = (password(), password());
        assert_ne!(one, other);
        assert!(one.len() == 16 && !one.contains(['`', '\\', '\'']));
    }

    #[test]
    fn what_is_there_is_not_made_anew() {
        let now = Timestamp::UNIX_EPOCH;
        let made = fresh(&Facts::default(), now).unwrap();
        let keys = made.keys.unwrap();
        assert!(keys.private.expose().contains("PRIVATE KEY") && keys.public.contains("PUBLIC KEY"));
        assert!(made.password.is_some() && made.seal_keys.is_some());
        let database = Some(DatabaseAccess { password: "a".into() });
        let facts = Facts { keys: Some(keys), database, has_seal_keys: true, ..Facts::default() };
        let made = fresh(&facts, now).unwrap();
        assert!(made.keys.is_none() && made.password.is_none() && made.seal_keys.is_none());
    }
}
