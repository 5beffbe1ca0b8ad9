//! Requests for certificates: nodes that join ask for one as a client and for one as a server. Only what a host of the
//! inventory may ask for is approved; all else is left to the cluster's own approver, and to people, who are told.

mod refused;
mod request;
mod rules;

use assisted_base::error::chain;
use assisted_client::Error as ServiceError;
use assisted_wire::cluster::Cluster;
use assisted_wire::host::HostStatus;
use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestCondition, CertificateSigningRequestStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{ListParams, PostParams};
use kube::{Api, ResourceExt};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::error::ReconcileError;
use crate::host::KnownHost;
use crate::node;
use crate::run::Context;
use crate::wait::Ticker;

use refused::Refused;
use rules::Known;

/// Approves what may be approved, until it is to stop.
pub(crate) async fn approve(context: &Context<'_>, stop: &CancellationToken) {
    let intervals = &context.config.intervals;
    let requests = Api::<CertificateSigningRequest>::all(context.kube.clone());
    let mut ticker = Ticker::watching(requests.clone(), intervals.resync, intervals.min_interval);
    let (mut inventory, mut refused) = (None, Refused::default());
    if context.config.approve_all_csrs {
        warn!(
            "APPROVE_ALL_CSRS is set: every request for a certificate of a node is approved, whoever makes it"
        );
    }
    loop {
        if let Err(error) = reconcile(context, &requests, &mut inventory, &mut refused).await {
            warn!(error = chain(&error), "certificate signing requests have to wait");
        }
        if !ticker.next(stop).await {
            return;
        }
    }
}

async fn reconcile(
    context: &Context<'_>,
    requests: &Api<CertificateSigningRequest>,
    inventory: &mut Option<Inventory>,
    refused: &mut Refused,
) -> Result<(), ReconcileError> {
    let listed = requests.list(&ListParams::default()).await?;
    let pending: Vec<_> = listed.items.into_iter().filter(is_pending).collect();
    refused.keep(&pending);
    if pending.is_empty() {
        return Ok(());
    }
    if context.config.approve_all_csrs {
        // The controller has no right to approve for other signers.
        let of_kubelets = |request: &CertificateSigningRequest| {
            rules::is_of_kubelets(&request.spec) && rules::is_plain(&request.name_any())
        };
        for request in pending.into_iter().filter(of_kubelets) {
            approve_one(requests, request).await;
        }
        return Ok(());
    }
    // Hosts that were known count while the service is away: it may run on the very host that asks.
    let Inventory { cluster, hosts } = match (Inventory::read(context).await, &mut *inventory) {
        (Ok(found), inventory) => inventory.insert(found),
        (Err(error @ ServiceError::Unreachable { .. }), Some(known)) => {
            warn!(
                error = chain(&error),
                "requests for certificates are held against the inventory as it was"
            );
            known
        }
        (Err(error), _) => return Err(error.into()),
    };
    let nodes = node::list(&context.kube).await?;
    let known = Known::new(cluster, hosts, &nodes);
    for request in pending {
        match rules::check(&request.name_any(), &request.spec, &known) {
            Ok(()) => approve_one(requests, request).await,
            Err(why) => refused.note(&request, &why, Instant::now()),
        }
    }
    tell(context, refused).await;
    Ok(())
}

/// What requests are held against, as the service knows it.
struct Inventory {
    cluster: Cluster,
    hosts: Vec<KnownHost>,
}

impl Inventory {
    async fn read(context: &Context<'_>) -> Result<Self, ServiceError> {
        let cluster = context.service.cluster().await?;
        let hosts = context.service.hosts(&[HostStatus::Disabled]).await?;
        Ok(Self { cluster, hosts })
    }
}

/// Tells the service of requests that stay refused. What the service doesn't hear now is told with the next look.
async fn tell(context: &Context<'_>, refused: &mut Refused) {
    while let Some(notice) = refused.due(Instant::now(), context.config.intervals.refusal_grace) {
        let event = notice.event(context.config.cluster_id, context.service.now());
        match context.service.event(&event).await {
            Ok(()) => refused.told(&notice),
            Err(error @ ServiceError::Refused(_)) => {
                warn!(
                    error = chain(&error),
                    "the service doesn't take the event of a request that is not approved"
                );
                refused.told(&notice);
            }
            Err(error) => {
                warn!(error = chain(&error), "nobody is told yet of a request that is not approved");
                return;
            }
        }
    }
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
async fn approve_one(requests: &Api<CertificateSigningRequest>, request: CertificateSigningRequest) {
    let name = request.name_any();
    match put_approval(requests, request).await {
        Ok(()) => info!(request = name, "approved"),
        Err(error) => warn!(request = name, error = chain(&error), "can't be approved now"),
    }
}

async fn put_approval(
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
