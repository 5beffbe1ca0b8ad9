//! What follows from overrides for the cluster itself (install-generation §2.7).

use assisted_base::version::at_least;
use serde_json::Value;

use super::{OnClusterLayering, first_value, overrides::folded};
use crate::catalogue::feature::usage::Usages;
use crate::catalogue::operators::{CONSOLE, selection};
use crate::layering;
use crate::model::cluster::ClusterRecord;

/// Keeps overrides that have been judged, notes what they use, and adds or drops the operator of the console.
pub fn apply(record: &mut ClusterRecord, overrides: &str) {
    overrides.clone_into(&mut record.cluster.install_config_overrides);
    let layering = layering::enabled(record);
    let cluster = &mut record.cluster;
    let read = first_value(overrides).and_then(folded).unwrap_or_default();
    if !overrides.is_empty() {
        let mut usages = Usages::read(&cluster.feature_usage);
        usages.set_install_config_overrides(touched(&read));
        usages.set("FIPS", read["fips"] == true);
        note_layering(&mut usages, layering.as_ref());
        cluster.feature_usage = usages.write();
    }
    let without = at_least(&cluster.openshift_version, 4, 12) && drops_console(&read);
    let operators = cluster.monitored_operators.get_or_insert_default();
    if without {
        operators.retain(|row| row.name != CONSOLE);
    } else if !operators.iter().any(|row| row.name == CONSOLE) {
        let builtin = selection::builtin(cluster.id, false);
        operators.extend(builtin.into_iter().filter(|row| row.name == CONSOLE));
    }
}

/// Notes whether a cluster is to be installed in image mode, and how.
pub(crate) fn note_layering(usages: &mut Usages, asked: Option<&OnClusterLayering>) {
    let settings = asked.cloned().unwrap_or_default();
    let facts = [
        ("registry_type", settings.registry_type().as_str().into()),
        ("worker_build_location", settings.worker_build_location().as_str().into()),
    ];
    usages.set_with("On Cluster Layering", asked.is_some(), facts);
}

/// The members that overrides touch: each with those below it, in one text.
fn touched(overrides: &Value) -> Vec<String> {
    let members = overrides.as_object().into_iter().flatten();
    let text = |(name, value): (&String, &Value)| {
        let below = value.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        std::iter::once(name.as_str()).chain(below).collect::<Vec<_>>().join(" ")
    };
    members.map(text).collect()
}

fn drops_console(overrides: &Value) -> bool {
    let capabilities = &overrides["capabilities"];
    let added = capabilities["additionalEnabledCapabilities"].as_array();
    capabilities["baselineCapabilitySet"] == "None"
        && !added.is_some_and(|added| added.iter().any(|capability| capability == "Console"))
}
