//! What is merged over the install-config: which parts of OpenShift the cluster has, and what a person wrote (capi-providers §11.3).

use assisted_crd::cluster_api::openshift_assisted_control_plane::config::Capabilities;
use serde_json::{Map, Value, json};

/// What clusters on bare metal have unless somebody says otherwise.
const BARE_METAL: [&str; 8] = [
    "baremetal",
    "Console",
    "Insights",
    "OperatorLifecycleManager",
    "Ingress",
    "marketplace",
    "NodeTuning",
    "DeploymentConfig",
];
/// Machines are the affair of Cluster API.
const MACHINES: &str = "MachineAPI";

/// The overrides for the AgentClusterInstall; none: there is nothing to say.
///
/// # Errors
/// The set of capabilities is none, or what a person wrote is no JSON object.
pub(super) fn overrides(
    capabilities: Option<&Capabilities>,
    is_bare_metal: bool,
    written: Option<&str>,
) -> Result<Option<String>, String> {
    let written = written.filter(|written| !written.is_empty());
    let given = capabilities.cloned().unwrap_or_default();
    if given == Capabilities::default() && !is_bare_metal {
        return Ok(written.map(str::to_owned));
    }
    let mut merged = match written {
        Some(written) => serde_json::from_str::<Map<String, Value>>(written)
            .map_err(|error| format!("failed to unmarshal json1: {error}"))?,
        None => Map::new(),
    };
    let mut own = json!({"baselineCapabilitySet": baseline(&given.baseline_capability, is_bare_metal)?});
    let additional = additional(&given.additional_enabled_capabilities, is_bare_metal);
    if !additional.is_empty() {
        own["additionalEnabledCapabilities"] = additional.into();
    }
    merged.insert("capabilities".to_owned(), own);
    Ok(Some(Value::Object(merged).to_string()))
}

fn baseline(given: &str, is_bare_metal: bool) -> Result<&str, String> {
    let is_version = given
        .strip_prefix("v4.")
        .is_some_and(|minor| !minor.is_empty() && minor.bytes().all(|byte| byte.is_ascii_digit()));
    match given {
        "" if is_bare_metal => Ok("None"),
        "" => Ok("vCurrent"),
        "None" | "vCurrent" => Ok(given),
        _ if is_version => Ok(given),
        _ => Err(format!(
            "invalid baseline capability set, must be one of: None, vCurrent, or v4.x. Got: [{given}]"
        )),
    }
}

fn additional(given: &[String], is_bare_metal: bool) -> Vec<String> {
    let mut all: Vec<String> =
        if is_bare_metal { BARE_METAL.iter().map(|&name| name.to_owned()).collect() } else { Vec::new() };
    for name in given {
        let is_machines = is_bare_metal && name.eq_ignore_ascii_case(MACHINES);
        if !is_machines && !all.contains(name) {
            all.push(name.clone());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(
        baseline: &str,
        additional: &[&str],
        is_bare_metal: bool,
        written: Option<&str>,
    ) -> Result<Option<Value>, String> {
        let capabilities = Capabilities {
            baseline_capability: baseline.to_owned(),
            additional_enabled_capabilities: additional.iter().map(|&name| name.to_owned()).collect(),
        };
        let made = overrides(Some(&capabilities), is_bare_metal, written)?;
        Ok(made.map(|text| serde_json::from_str(&text).unwrap()))
    }

    #[test]
    fn machines_are_the_affair_of_cluster_api_on_bare_metal() {
        let all = of("", &["MachineAPI", "Console", "Build", "machineapi"], true, None).unwrap().unwrap();
        let mut names: Vec<&str> = BARE_METAL.to_vec();
        names.push("Build");
        assert_eq!(
            all,
            json!({"capabilities": {"baselineCapabilitySet": "None", "additionalEnabledCapabilities": names}})
        );
        let elsewhere = of("", &["MachineAPI"], false, None).unwrap().unwrap();
        assert_eq!(
            elsewhere,
            json!({"capabilities": {"baselineCapabilitySet": "vCurrent", "additionalEnabledCapabilities": ["MachineAPI"]}})
        );
        // What a person wrote is kept, but for the capabilities.
        let written = r#"{"capabilities": {"additionalEnabledCapabilities": ["MachineAPI"]}, "fips": true}"#;
        let merged = of("v4.11", &[], true, Some(written)).unwrap().unwrap();
        assert_eq!(merged["fips"], true);
        assert_eq!(merged["capabilities"]["baselineCapabilitySet"], "v4.11");
        assert!(!merged["capabilities"].to_string().contains("MachineAPI"));
    }

    #[test]
    fn nothing_is_said_where_nothing_is_asked() {
        assert_eq!(overrides(None, false, None), Ok(None));
        assert_eq!(overrides(None, false, Some("")), Ok(None));
        // It is the installer's to judge.
        assert_eq!(overrides(None, false, Some("{")), Ok(Some("{".to_owned())));
        assert_eq!(
            of("v4.14", &[], false, None).unwrap().unwrap(),
            json!({"capabilities": {"baselineCapabilitySet": "v4.14"}})
        );
        for wrong in ["v5.1", "v4.", "all", "xv4.1", "v4.1x"] {
            assert_eq!(
                of(wrong, &[], false, None).unwrap_err(),
                format!(
                    "invalid baseline capability set, must be one of: None, vCurrent, or v4.x. Got: [{wrong}]"
                )
            );
        }
        assert!(of("None", &[], true, Some("{")).unwrap_err().starts_with("failed to unmarshal json1: "));
    }
}
