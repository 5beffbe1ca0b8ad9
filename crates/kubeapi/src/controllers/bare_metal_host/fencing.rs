//! Credentials by which others of a cluster turn a machine off, made of those of its BMC (kube-api §6.6.7).

use std::collections::BTreeMap;

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_kube::error::optional;
use assisted_kube::write::{self, Guard};
use assisted_reconcile::Failure;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::PostParams;

use crate::controllers::hub::{Hub, failed};

/// Name of the Secret of an Agent.
pub(super) fn name(agent: &Agent) -> String {
    format!("{}-fencing-credentials", agent.name_any())
}

/// Makes the Secret, or what differs in it.
///
/// # Errors
/// The machine has no BMC or its Secret lacks something; the API server is away.
pub(super) async fn keep(hub: &Hub, machine: &BareMetalHost, agent: &Agent) -> Result<(), Failure> {
    let own = machine.name_any();
    let namespace = machine.namespace().unwrap_or_default();
    let missing = |what: &str| {
        Failure::of_row(format!("no credentials for fencing can be made of BareMetalHost {own}: {what}"))
    };
    let bmc = machine.spec.bmc.as_ref().ok_or_else(|| missing("it has no spec.bmc"))?;
    let api = hub.api::<Secret>(&namespace);
    let given = optional(api.get(&bmc.credentials_name).await).map_err(|error| failed(&error))?;
    let given = given.ok_or_else(|| missing("the Secret of its BMC is not there"))?;
    let value = |key: &str| given.data.as_ref().and_then(|data| data.get(key)).cloned();
    let verification =
        if bmc.disable_certificate_verification == Some(true) { "Disabled" } else { "Enabled" };
    let text = |text: &str| ByteString(text.as_bytes().to_vec());
    let data = BTreeMap::from([
        ("address".to_owned(), text(&bmc.address)),
        ("username".to_owned(), value("username").ok_or_else(|| missing("its Secret has no username"))?),
        ("password".to_owned(), value("password").ok_or_else(|| missing("its Secret has no password"))?),
        ("certificateVerification".to_owned(), text(verification)),
    ]);
    let key = ObjectKey::new(namespace, name(agent));
    match hub.secret(&key).await.map_err(|error| failed(&error))? {
        Some(found) => {
            let wanted = Secret { data: Some(data), ..found.clone() };
            write::object(&api, &found, &wanted, Guard::Free).await.map_err(|error| failed(&error))?;
        }
        None => {
            let mut made = Secret { data: Some(data), ..Secret::default() };
            made.metadata.name = Some(key.name);
            let made = api.create(&PostParams::default(), &made).await.map_err(|error| failed(&error))?;
            hub.label(made).await.map_err(|error| failed(&error))?;
        }
    }
    Ok(())
}
