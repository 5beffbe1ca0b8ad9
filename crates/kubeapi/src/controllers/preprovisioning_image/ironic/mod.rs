//! The agent of Ironic: where it finds Ironic, and which image it comes from (kube-api §6.7).

mod endpoints;
mod image;

use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_ignition::ironic::{self as config, ironic};
use assisted_kube::error::optional;
use assisted_service::object::DescribedInfraEnv;
use k8s_openapi::api::core::v1::Secret;

use crate::SyncError;
use crate::controllers::hub::{Hub, Shared};
use crate::objects::secret_value;
use image::Images;

/// Where metal3 runs on OpenShift.
const NAMESPACE: &str = "openshift-machine-api";
/// The Secret with what metal3's own images are made with.
const CUSTOMIZATION: &str = "metal3-image-customization-config";

/// Makes the config that has the agent of Ironic in images.
#[derive(Default)]
pub(super) struct Ironic {
    images: Images,
}

/// What metal3's own images are made with.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Customization {
    api: String,
    inspector: String,
    image: String,
}

impl Ironic {
    /// The Ignition config, as JSON.
    ///
    /// # Errors
    /// Ironic is not found, or what is told of it makes no sense.
    pub(super) async fn config(
        &self,
        hub: &Hub,
        object: &InfraEnv,
        known: &DescribedInfraEnv,
    ) -> Result<String, SyncError> {
        let customization = customization(hub).await?;
        let (api, inspector) = match &customization {
            Some(found) => (found.api.clone(), found.inspector.clone()),
            None => {
                let address = endpoints::find(hub, object).await?;
                (address.clone(), address)
            }
        };
        let own = customization.as_ref().map(|found| found.image.as_str());
        let image = self.images.choose(hub, object, known, own).await;
        let infra_env = &known.infra_env;
        let made = ironic(&config::Ironic {
            api: &api,
            inspector: &inspector,
            image: &image,
            proxy: infra_env.proxy.as_ref(),
            has_static_network: !infra_env.static_network_config.is_empty(),
        });
        let made = made.map_err(|error| SyncError::backend(error.to_string()))?;
        let json = made.to_json().map_err(|error| SyncError::backend(error.to_string()))?;
        String::from_utf8(json).map_err(|error| SyncError::backend(error.to_string()))
    }
}

/// What metal3's own images are made with, if metal3 tells. The Secret is somebody else's: it is not labelled.
async fn customization(hub: &Shared) -> Result<Option<Customization>, SyncError> {
    let found = optional(hub.api::<Secret>(NAMESPACE).get(CUSTOMIZATION).await);
    let found = found.map_err(|error| SyncError::backend(assisted_base::error::chain(&error)))?;
    Ok(found.as_ref().and_then(read))
}

fn read(secret: &Secret) -> Option<Customization> {
    let value = |key: &str| secret_value(secret, key).filter(|text| !text.is_empty());
    let read = || {
        Some(Customization {
            api: value("IRONIC_BASE_URL")?,
            image: value("IRONIC_AGENT_IMAGE")?,
            inspector: value("IRONIC_INSPECTOR_BASE_URL").unwrap_or_default(),
        })
    };
    let read = read();
    if read.is_none() {
        tracing::warn!("secret {NAMESPACE}/{CUSTOMIZATION} lacks IRONIC_BASE_URL or IRONIC_AGENT_IMAGE");
    }
    read
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use k8s_openapi::ByteString;

    use super::*;

    #[test]
    fn what_metal3_tells_counts_when_it_is_whole() {
        let secret = |entries: &[(&str, &str)]| {
            let entry =
                |(key, value): &(&str, &str)| ((*key).to_owned(), ByteString(value.as_bytes().to_vec()));
            Secret { data: Some(entries.iter().map(entry).collect::<BTreeMap<_, _>>()), ..Secret::default() }
        };
        let base = ("IRONIC_BASE_URL", "https://192.0.2.1");
        let image = ("IRONIC_AGENT_IMAGE", "quay.io/ironic:1");
        let inspector = ("IRONIC_INSPECTOR_BASE_URL", "https://192.0.2.2");
        let read = |entries: &[(&str, &str)]| read(&secret(entries)).map(|found| found.inspector);
        assert_eq!(read(&[base, image]).as_deref(), Some(""));
        assert_eq!(read(&[base, image, inspector]).as_deref(), Some("https://192.0.2.2"));
        assert_eq!(read(&[base, inspector]), None);
        assert_eq!(read(&[image, inspector]), None);
    }
}
