//! The matrix of platforms and networking (kube-api §5.3).

use serde_json::{Value, json};

use super::agent_cluster_install::install;
use super::{created, denial, updated};

const VALIDATOR: &str = "agentclusterinstallvalidators";

/// Platform, control plane nodes, workers, the external platform, who manages the networking, and what is told.
type Row = (&'static str, i64, i64, Option<Value>, Option<bool>, Option<&'static str>);

fn object(row: &Row) -> Value {
    let (platform, control_planes, workers, external, user_managed, _) = row;
    install(&json!({
        "platformType": platform,
        "external": external,
        "networking": {"userManagedNetworking": user_managed},
        "provisionRequirements": {"controlPlaneAgents": control_planes, "workerAgents": workers},
    }))
}

fn matrix() -> Vec<Row> {
    const SNO: Option<&str> = Some("UserManagedNetworking must be set to true with SNO");
    const NOT_EXTERNAL: Option<&str> = Some("External settings can only be set with external platform type");
    const BARE_METAL_UMN: Option<&str> =
        Some("Can't set baremetal platform with user-managed-networking enabled");
    const BARE_METAL_SNO: Option<&str> = Some("Can't set baremetal platform on single node OpenShift");
    const NONE_CMN: Option<&str> = Some("Can't set none platform with user-managed-networking disabled");
    const EXTERNAL_CMN: Option<&str> =
        Some("Can't set external platform with user-managed-networking disabled");
    const NUTANIX_UMN: Option<&str> = Some("Can't set nutanix platform with user-managed-networking enabled");
    let cloud = || Some(json!({"platformName": "cloud"}));
    vec![
        ("", 3, 0, None, None, None),
        ("", 3, 0, None, Some(false), None),
        ("", 3, 0, None, Some(true), None),
        ("", 1, 0, None, None, None),
        ("", 1, 0, None, Some(true), None),
        ("", 1, 0, None, Some(false), SNO),
        ("", 0, 0, None, None, None),
        ("", 3, 0, cloud(), None, NOT_EXTERNAL),
        ("", 3, 0, cloud(), Some(true), NOT_EXTERNAL),
        ("BareMetal", 3, 0, None, None, None),
        ("BareMetal", 3, 2, None, Some(false), None),
        ("BareMetal", 2, 1, None, Some(false), None),
        ("BareMetal", 3, 0, None, Some(true), BARE_METAL_UMN),
        ("BareMetal", 1, 0, None, None, BARE_METAL_SNO),
        ("BareMetal", 1, 2, None, Some(false), BARE_METAL_SNO),
        ("BareMetal", 1, 0, None, Some(false), SNO),
        ("BareMetal", 3, 0, cloud(), Some(false), NOT_EXTERNAL),
        ("BareMetal", 3, 0, Some(json!({})), Some(false), NOT_EXTERNAL),
        (
            "BareMetal",
            0,
            0,
            None,
            Some(false),
            Some("Got invalid platform (baremetal) and/or user-managed-networking (false)"),
        ),
        (
            "BareMetal",
            0,
            0,
            None,
            None,
            Some("Got invalid platform (baremetal) and/or user-managed-networking (<nil>)"),
        ),
        ("None", 3, 0, None, None, None),
        ("None", 3, 0, None, Some(true), None),
        ("None", 3, 0, None, Some(false), NONE_CMN),
        ("None", 1, 0, None, Some(true), None),
        ("None", 1, 0, None, Some(false), SNO),
        ("None", 3, 0, cloud(), Some(true), NOT_EXTERNAL),
        (
            "None",
            0,
            0,
            None,
            Some(true),
            Some("Got invalid platform (none) and/or user-managed-networking (true)"),
        ),
        ("External", 3, 0, cloud(), None, None),
        ("External", 3, 0, cloud(), Some(true), None),
        ("External", 3, 0, cloud(), Some(false), EXTERNAL_CMN),
        ("External", 1, 0, cloud(), Some(true), None),
        ("External", 1, 0, cloud(), Some(false), SNO),
        (
            "External",
            3,
            0,
            None,
            Some(true),
            Some("External setting must be set when using platform type external"),
        ),
        (
            "External",
            3,
            0,
            Some(json!({"platformName": "oci"})),
            Some(true),
            Some("Cloud controller manager must be enabled when using oci external integration"),
        ),
        (
            "External",
            3,
            0,
            Some(json!({"platformName": "oci", "cloudControllerManager": "External"})),
            Some(true),
            None,
        ),
        (
            "External",
            0,
            0,
            cloud(),
            Some(true),
            Some("Got invalid platform (external) and/or user-managed-networking (true)"),
        ),
        ("VSphere", 3, 0, None, None, None),
        ("VSphere", 3, 0, None, Some(false), None),
        ("VSphere", 3, 0, None, Some(true), None),
        ("VSphere", 1, 0, None, Some(true), None),
        ("VSphere", 1, 0, None, None, None),
        ("VSphere", 1, 0, None, Some(false), SNO),
        ("VSphere", 3, 0, cloud(), None, NOT_EXTERNAL),
        ("Nutanix", 3, 0, None, None, None),
        ("Nutanix", 3, 0, None, Some(false), None),
        ("Nutanix", 3, 0, None, Some(true), NUTANIX_UMN),
        ("Nutanix", 1, 0, None, Some(true), NUTANIX_UMN),
        ("Nutanix", 1, 0, None, Some(false), SNO),
        ("Nutanix", 3, 0, cloud(), None, NOT_EXTERNAL),
    ]
}

#[test]
fn the_matrix_holds_when_objects_are_created_and_updated() {
    for row in matrix() {
        let object = object(&row);
        let expected = row.5.map(|text| (409, text));
        assert_eq!(denial(&created(VALIDATOR, &object)), expected, "{row:?}");
        assert_eq!(denial(&updated(VALIDATOR, &object, &object)), expected, "{row:?}");
    }
}

#[test]
fn what_an_update_leaves_out_counts_as_it_was() {
    let of = |platform: Value, user_managed: Value| {
        install(&json!({"platformType": platform, "networking": {"userManagedNetworking": user_managed}}))
    };
    let told =
        |old: &Value, new: &Value| denial(&updated(VALIDATOR, old, new)).map(|(_, text)| text.to_owned());
    let text = "Can't set none platform with user-managed-networking disabled";
    assert_eq!(told(&of(json!("None"), json!(true)), &of(Value::Null, json!(false))).as_deref(), Some(text));
    assert_eq!(
        told(&of(json!("BareMetal"), json!(false)), &of(json!("None"), Value::Null)).as_deref(),
        Some(text)
    );
    assert_eq!(told(&of(json!("None"), json!(true)), &of(Value::Null, Value::Null)), None);
}
