//! `ignition-downloadable`: a host that joins an installed cluster reaches the cluster's Ignition configuration.

use assisted_wire::probe_responses::ApiVipConnectivityResponse;

use super::View;
use crate::model::outcome::Outcome;
use crate::model::report::ReportKind;
use crate::validation::scope::Report;

pub(super) fn check(view: &View<'_>) -> Outcome {
    if view.cluster.is_none() || !view.host.is_day2() {
        return Outcome::suppressed();
    }
    let answer: ApiVipConnectivityResponse = match view.report(ReportKind::ApiVipConnectivity) {
        Report::Missing => {
            return Outcome::awaits_report("Ignition is not yet available, pending API connectivity");
        }
        Report::Broken => {
            return Outcome::error("Internal error - failed to parse agent API connectivity response");
        }
        Report::Read(answer) => answer,
    };
    if answer.is_success {
        return Outcome::success("Ignition is downloadable");
    }
    let outcome = if answer.url.is_empty() {
        Outcome::failure(
            "This host has failed to download the ignition file from the cluster, please ensure the host can reach \
             the cluster",
        )
    } else {
        Outcome::failure(format!(
            "This host has failed to download the ignition file from {} with the following error: {}. Please ensure \
             the host can reach this URL",
            answer.url, answer.download_error
        ))
    };
    let failed =
        if answer.download_error.is_empty() { "not downloaded".to_owned() } else { answer.download_error };
    outcome
        .measured(failed)
        .required("the cluster's Ignition configuration downloaded")
        .remedy("Check routes, name resolution and firewalls between the host and the cluster's API.")
}
