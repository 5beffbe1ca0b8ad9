//! Requests for certificates by kubelets: what they ask for, which of them may be approved, and how one is approved.

pub mod request;
pub mod rules;

use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::PostParams;
use kube::{Api, ResourceExt};

/// The condition that says whether somebody has decided about a request, and how.
fn decision(request: &CertificateSigningRequest) -> Option<&CertificateSigningRequestCondition> {
    let conditions = request.status.as_ref().and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    conditions.find(|condition| matches!(condition.type_.as_str(), "Approved" | "Denied"))
}

/// Whether nobody has decided about a request.
pub fn is_pending(request: &CertificateSigningRequest) -> bool {
    decision(request).is_none()
}

/// When somebody approved a request; `None`: nobody has, or it does not say when.
pub fn approved_at(request: &CertificateSigningRequest) -> Option<&Time> {
    let approved = decision(request).filter(|condition| condition.type_ == "Approved")?;
    approved.last_update_time.as_ref()
}

/// Approves a request as it was read, in the name of the program `by`, and gives the time that the approval carries.
///
/// # Errors
/// The API server's: a conflict if the request has changed since it was read.
pub async fn approve(
    api: &Api<CertificateSigningRequest>,
    request: &CertificateSigningRequest,
    by: &str,
) -> Result<Time, kube::Error> {
    let now = Timestamp::now();
    let at = Time(Timestamp::from_second(now.as_second()).unwrap_or(now));
    let condition = CertificateSigningRequestCondition {
        type_: "Approved".to_owned(),
        status: "True".to_owned(),
        reason: Some("NodeCSRApprove".to_owned()),
        message: Some(format!("This CSR was approved by the {by}")),
        last_update_time: Some(at.clone()),
        ..CertificateSigningRequestCondition::default()
    };
    let mut approved = request.clone();
    approved.status.get_or_insert_default().conditions.get_or_insert_default().push(condition);
    api.replace_subresource("approval", &request.name_any(), &PostParams::default(), &approved).await?;
    Ok(at)
}
