//! Requests for certificates: nodes that join ask for one as a client and for one as a server. Only what a host of the
//! inventory may ask for is approved; all else is left to the cluster's own approver, and to people.

mod request;
mod rules;

use std::collections::BTreeMap;

use assisted_wire::host::HostStatus;
use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestCondition, CertificateSigningRequestStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{ListParams, PostParams};
use kube::{Api, ResourceExt};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::node;
use crate::run::Around;
use crate::wait::Pulse;

use rules::{Known, Refusal};

/// Requests whose refusals are remembered, so that each is logged once.
const REMEMBERED: usize = 1000;

/// Approves what may be approved, until it is to stop.
pub(crate) async fn approve(around: &Around<'_>, stop: &CancellationToken) {
    let pace = &around.config.pace;
    let requests = Api::<CertificateSigningRequest>::all(around.kube.clone());
    let mut pulse = Pulse::of(requests.clone(), pace.look, pace.breath);
    let mut refused = BTreeMap::new();
    loop {
        if let Err(error) = pass(around, &requests, &mut refused).await {
            warn!(error, "requests for certificates have to wait");
        }
        if !pulse.next(stop).await {
            return;
        }
    }
}

async fn pass(
    around: &Around<'_>,
    requests: &Api<CertificateSigningRequest>,
    refused: &mut BTreeMap<String, Refusal>,
) -> Result<(), String> {
    let listed = requests.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
    let pending: Vec<_> = listed.items.into_iter().filter(is_pending).collect();
    if pending.is_empty() {
        return Ok(());
    }
    let cluster = around.service.cluster().await.map_err(|error| error.to_string())?;
    let hosts = around.service.hosts(&[HostStatus::Disabled]).await.map_err(|error| error.to_string())?;
    let nodes = node::list(&around.kube).await.map_err(|error| error.to_string())?;
    let known = Known::new(&cluster, &hosts, &nodes);
    for request in pending {
        let name = request.name_any();
        match rules::check(&request.spec, &known) {
            Ok(()) => match approve_one(requests, request).await {
                Ok(()) => info!(request = name, "approved"),
                Err(error) => warn!(request = name, %error, "can't be approved now"),
            },
            Err(why) => {
                if refused.get(&name) != Some(&why) {
                    warn!(request = name, %why, "not approved");
                    if refused.len() >= REMEMBERED {
                        refused.clear();
                    }
                    refused.insert(name, why);
                }
            }
        }
    }
    Ok(())
}

/// Nobody has decided about it.
fn is_pending(request: &CertificateSigningRequest) -> bool {
    let conditions = request.status.as_ref().and_then(|status| status.conditions.as_ref());
    !conditions
        .into_iter()
        .flatten()
        .any(|condition| matches!(condition.type_.as_str(), "Approved" | "Denied"))
}

/// Approves the request as it was read: if it has changed since, the API refuses.
async fn approve_one(
    requests: &Api<CertificateSigningRequest>,
    mut request: CertificateSigningRequest,
) -> Result<(), kube::Error> {
    let now = Some(Time(Timestamp::now()));
    let condition = CertificateSigningRequestCondition {
        type_: "Approved".to_owned(),
        status: "True".to_owned(),
        reason: Some("NodeCSRApprove".to_owned()),
        message: Some("This CSR was approved by the assisted-installer-controller".to_owned()),
        last_update_time: now,
        ..CertificateSigningRequestCondition::default()
    };
    let status = request.status.get_or_insert_with(CertificateSigningRequestStatus::default);
    status.conditions.get_or_insert_default().push(condition);
    let name = request.name_any();
    requests.replace_subresource("approval", &name, &PostParams::default(), &request).await.map(drop)
}
