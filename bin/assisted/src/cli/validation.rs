//! Validations for people: what failed, what was measured and required, and what to do.

use std::collections::BTreeMap;

use assisted_client::{Call, Error};
use assisted_console::Failure;
use assisted_console::output::{facts, indented, table};
use assisted_wire::cluster::Cluster;
use assisted_wire::host::Host;
use assisted_wire::operation::OperationId;
use serde::Deserialize;

use super::common::Context;

/// One validation. Status and id are text: a newer service may know more of them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Validation {
    id: String,
    status: String,
    message: String,
    measured: String,
    required: String,
    remedy: String,
}

impl Validation {
    fn holds(&self) -> bool {
        matches!(self.status.as_str(), "success" | "disabled")
    }
}

/// What each validation of a host finds.
pub async fn of_host(context: &Context, host: &Host) -> Result<Vec<Validation>, Failure> {
    let call = context.client.call(OperationId::ListHostValidations);
    let call = call.path("infra_env_id", host.infra_env_id.unwrap_or_default()).path("host_id", host.id);
    explained(call, &host.validations_info).await
}

/// What each validation of a cluster finds.
pub async fn of_cluster(context: &Context, cluster: &Cluster) -> Result<Vec<Validation>, Failure> {
    let call = context.client.call(OperationId::ListClusterValidations).path("cluster_id", cluster.id);
    explained(call, &cluster.validations_info).await
}

/// Other services don't know the operation, and ours finds nothing once the installation runs: what was stored last must
/// do then.
async fn explained(call: Call<'_>, info: &str) -> Result<Vec<Validation>, Failure> {
    match call.send::<Vec<Validation>>().await {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) | Err(Error::Refused(_)) => Ok(read(info)),
        Err(error) => Err(error.into()),
    }
}

/// All validations of `validations_info`, in its order.
pub fn read(info: &str) -> Vec<Validation> {
    let groups: Option<BTreeMap<String, Option<Vec<Validation>>>> =
        assisted_wire::embedded::read(info).ok().flatten();
    groups.into_iter().flatten().flat_map(|(_, group)| group.unwrap_or_default()).collect()
}

/// How many validations hold, as one line.
pub fn summary(all: &[Validation]) -> String {
    let pending = all.iter().filter(|validation| validation.status == "pending").count();
    let failing = all.iter().filter(|validation| !validation.holds()).count() - pending;
    match (failing, pending) {
        _ if all.is_empty() => "none yet".to_owned(),
        (0, 0) => format!("all {} hold", all.len()),
        (failing, pending) => format!("{failing} failing, {pending} pending, {} in all", all.len()),
    }
}

/// A table of the validations that do not hold, those first that are sure not to; what to do about each; and which hold.
/// Empty without validations.
pub fn report(all: &[Validation]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let (holding, mut open): (Vec<&Validation>, Vec<_>) =
        all.iter().partition(|validation| validation.holds());
    open.sort_by_key(|validation| (validation.status == "pending", validation.status != "error"));
    let row = |validation: &&Validation| {
        [validation.status.clone(), validation.id.clone(), validation.message.clone()]
    };
    let mut text = if open.is_empty() {
        String::new()
    } else {
        table(["STATUS", "VALIDATION", "FOUND"], open.iter().map(row)) + "\n"
    };
    text.push_str(&format!("{} of {} validations hold.", holding.len(), all.len()));
    if !open.is_empty() {
        text.push_str(" `assisted explain VALIDATION` tells the causes of one, and what to do about each.");
    }
    for validation in open.iter().filter(|validation| !validation.remedy.is_empty()) {
        let explanation = facts(&[
            ("measured", validation.measured.clone()),
            ("required", validation.required.clone()),
            ("what to do", validation.remedy.clone()),
        ]);
        text = format!("{text}\n\n{}\n{}", validation.id, indented(&explanation));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = r#"{"hardware":[{"id":"has-inventory","status":"success","message":"Valid inventory exists for the host"},
        {"id":"has-min-memory","status":"failure","message":"The host is not eligible"}],"network":[{"id":"ntp-synced","status":"pending","message":"x"}]}"#;

    #[test]
    fn failures_come_first_and_say_what_to_do() {
        let mut all = read(INFO);
        all.reverse();
        let failing = all.iter_mut().find(|validation| validation.status == "failure").unwrap();
        failing.measured = "4.00 GiB".to_owned();
        failing.required = "8.00 GiB".to_owned();
        failing.remedy = "Add memory.".to_owned();
        let text = report(&all);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[1].starts_with("failure") && lines[1].contains("has-min-memory"), "{text}");
        assert!(lines[2].starts_with("pending"), "{text}");
        assert!(lines[3].starts_with("1 of 3 validations hold. `assisted explain VALIDATION`"), "{text}");
        assert!(report(&read(INFO)[..1]).ends_with("1 of 1 validations hold."));
        let explanation =
            "\n\nhas-min-memory\n  measured    4.00 GiB\n  required    8.00 GiB\n  what to do  Add memory.";
        assert!(text.ends_with(explanation), "{text}");
        assert_eq!(report(&[]), "");
    }

    #[test]
    fn the_summary_counts() {
        assert_eq!(summary(&read(INFO)), "1 failing, 1 pending, 3 in all");
        assert_eq!(summary(&read("")), "none yet");
        assert_eq!(summary(&read("garbage")), "none yet");
    }
}
