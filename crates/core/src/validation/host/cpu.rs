//! `has-min-cpu-cores`, `has-cpu-cores-for-role`: enough CPU cores for any role, and for the role it has.

use super::View;
use crate::model::outcome::Outcome;

pub(super) fn check_minimum(view: &View<'_>) -> Outcome {
    let Some(cores) = cores(view) else { return Outcome::awaits_inventory("Missing inventory") };
    let required = view.minimum.cpu_cores;
    let outcome = if cores >= required {
        Outcome::success("Sufficient CPU cores")
    } else {
        Outcome::failure(format!(
            "The host is not eligible to participate in Openshift Cluster because the minimum required CPU cores \
             for any role is {required}, found only {cores}"
        ))
        .remedy("Add CPU cores to the machine, or use another one.")
    };
    outcome.measured(format!("{cores} cores")).required(format!("{required} cores"))
}

pub(super) fn check_for_role(view: &View<'_>) -> Outcome {
    let Some(cores) = cores(view) else { return Outcome::awaits_inventory("Missing inventory or role") };
    let (required, role) = (view.total.cpu_cores, view.role);
    let outcome = if cores >= required {
        Outcome::success(format!("Sufficient CPU cores for role {role}"))
    } else {
        Outcome::failure(format!("Require at least {required} CPU cores for {role} role, found only {cores}"))
            .remedy("Give the host another role, add CPU cores to the machine, or use another one.")
    };
    outcome.measured(format!("{cores} cores")).required(format!("{required} cores"))
}

fn cores(view: &View<'_>) -> Option<i64> {
    view.inventory?.cpu.as_ref().map(|cpu| cpu.count)
}
