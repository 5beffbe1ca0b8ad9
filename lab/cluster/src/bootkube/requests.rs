//! Nodes' requests for certificates, as long as nobody else in the cluster looks at them.

use std::path::Path;

use anyhow::Result;
use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use tokio::time::sleep;
use tracing::{info, warn};

use super::{DONE, LOOK};
use crate::cluster::BOOTSTRAP;
use crate::control_plane::names;
use crate::kube_api::client;

/// Whose requests are approved.
pub enum Which<'a> {
    All,
    /// That of the node bootstrapper, or of the node itself, for this node.
    Of(&'a str),
}

/// Approves all requests until the temporary control plane has done its part.
pub async fn approve_until_done() -> Result<()> {
    let kubeconfig = Path::new(BOOTSTRAP).join(names::LOOPBACK);
    let mut kube = None;
    while !Path::new(DONE).exists() {
        let looked = async {
            let kube = match &kube {
                Some(kube) => kube,
                None => kube.insert(client(&kubeconfig, None).await?),
            };
            approve(kube, &Which::All).await
        };
        if let Err(error) = looked.await {
            warn!(error = format!("{error:#}"), "requests have to wait");
        }
        sleep(LOOK).await;
    }
    Ok(())
}

/// Approves what is pending now.
pub async fn approve(kube: &Client, which: &Which<'_>) -> Result<()> {
    let requests = Api::<CertificateSigningRequest>::all(kube.clone());
    for mut request in requests.list(&ListParams::default()).await?.items {
        let status = request.status.get_or_insert_default();
        let conditions = status.conditions.get_or_insert_default();
        if !conditions.is_empty() {
            continue;
        }
        if let Which::Of(node) = which {
            let user = request.spec.username.as_deref().unwrap_or_default();
            if user != crate::kinds::BOOTSTRAPPER && user != format!("system:node:{node}") {
                continue;
            }
        }
        conditions.push(CertificateSigningRequestCondition {
            type_: "Approved".to_owned(),
            status: "True".to_owned(),
            reason: Some("LabBootstrap".to_owned()),
            last_update_time: Some(Time(Timestamp::now())),
            ..CertificateSigningRequestCondition::default()
        });
        let name = request.name_any();
        match requests.replace_subresource("approval", &name, &PostParams::default(), &request).await {
            Ok(_) => info!(request = name, "approved"),
            Err(error) => warn!(request = name, %error, "not approved"),
        }
    }
    Ok(())
}
