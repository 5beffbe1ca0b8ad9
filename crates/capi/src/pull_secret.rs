//! Registry credentials, for objects that name none.

use assisted_kube::error::is_conflict;
use k8s_openapi::api::core::v1::{LocalObjectReference, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Api;
use kube::api::PostParams;

/// Registry credentials where nobody gave any: the service wants some, and these open nothing.
const PLACEHOLDER: &str = r#"{"auths":{"fake-pull-secret":{"auth":"cGxhY2Vob2xkZXI6c2VjcmV0Cg=="}}}"#;
const SUFFIX: &str = "placeholder-pull-secret";

/// Member with the credentials.
pub(crate) const KEY: &str = ".dockerconfigjson";

/// The Secret with registry credentials; where an object names none, one that opens nothing, made for the object alone.
pub(crate) async fn reference(
    secrets: &Api<Secret>,
    given: Option<&LocalObjectReference>,
    of: &str,
    owners: &[OwnerReference],
) -> Result<LocalObjectReference, kube::Error> {
    if let Some(given) = given.filter(|given| !given.name.is_empty()) {
        return Ok(given.clone());
    }
    let name = format!("{of}-{SUFFIX}");
    let mut secret = Secret {
        type_: Some("kubernetes.io/dockerconfigjson".to_owned()),
        string_data: Some([(KEY.to_owned(), PLACEHOLDER.to_owned())].into()),
        ..Secret::default()
    };
    secret.metadata.name = Some(name.clone());
    secret.metadata.owner_references = Some(owners.to_vec());
    match secrets.create(&PostParams::default(), &secret).await {
        Err(error) if !is_conflict(&error) => Err(error),
        _ => Ok(LocalObjectReference { name }),
    }
}
