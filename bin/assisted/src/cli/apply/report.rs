//! What became of each object.

use std::fmt::Write;

use assisted_console::output::{printable, table};
use serde::Serialize;
use serde_json::Value;

/// Whether anything is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Do,
    /// What would be done is told, and refused where it would be.
    Try,
    /// What differs is told, also of a cluster that can't be changed any more.
    Compare,
}

impl Mode {
    pub fn is_dry(self) -> bool {
        self != Self::Do
    }
}

/// A field that is not as the manifests say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// As the REST API calls it.
    pub field: String,
    pub is: String,
    pub becomes: String,
}

impl Difference {
    /// Those of the fields that a change names, between a record and what is asked of it, both as the API shows them.
    pub fn all(fields: &[&'static str], record: &impl Serialize, params: &impl Serialize) -> Vec<Self> {
        let (record, params) = (value(record), value(params));
        let of = |field: &&'static str| Self {
            field: (*field).to_owned(),
            is: text(&record, field),
            becomes: text(&params, field),
        };
        fields.iter().map(of).collect()
    }
}

fn value(record: &impl Serialize) -> Value {
    serde_json::to_value(record).unwrap_or_default()
}

/// Fields that records and requests have under another name.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("image_type", "type"),
    ("ntp_sources", "additional_ntp_source"),
    ("ntp_sources", "additional_ntp_sources"),
    ("role", "host_role"),
    ("hostname", "requested_hostname"),
    ("hostname", "host_name"),
    ("installation_disk_id", "disks_selected_config"),
    ("pull_secret", "pull_secret_set"),
];

/// A field for people. A secret is not shown, and what has another name in a request is not there.
fn text(record: &Value, field: &str) -> String {
    let found = OTHER_NAMES.iter().filter(|(name, _)| *name == field).map(|(_, other)| &record[*other]);
    let found = std::iter::once(&record[field]).chain(found).find(|value| !value.is_null());
    match found.unwrap_or(&Value::Null) {
        Value::Null => String::new(),
        _ if field == "pull_secret" => "(secret)".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What was done with an object, or would be in a dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    Created,
    Changed,
    Unchanged,
    WouldBeCreated,
    WouldBeChanged,
    NotThere,
    PassedOver,
}

impl Action {
    /// What a change is called: done, or not yet.
    pub fn change(mode: Mode) -> Self {
        if mode.is_dry() { Self::WouldBeChanged } else { Self::Changed }
    }

    /// What a creation is called: done, or not yet.
    pub fn creation(mode: Mode) -> Self {
        if mode.is_dry() { Self::WouldBeCreated } else { Self::Created }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Unchanged => "unchanged",
            Self::WouldBeCreated => "would be created",
            Self::WouldBeChanged => "would be changed",
            Self::NotThere => "not there yet",
            Self::PassedOver => "passed over",
        }
    }
}

/// An object of the manifests, and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct Applied {
    /// Kind, namespace and name.
    pub object: String,
    pub action: Action,
    /// Id in the service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The fields that were changed, as the REST API calls them; or why the object was passed over.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// What those fields are, and would become; of what is only compared or tried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
}

impl Applied {
    /// Whether the service is not as the object says.
    pub fn differs(&self) -> bool {
        !matches!(self.action, Action::Unchanged | Action::PassedOver)
    }

    /// An object that asks nothing of the service.
    pub fn passed_over(object: &str) -> Self {
        Self {
            object: object.to_owned(),
            action: Action::PassedOver,
            id: None,
            details: vec!["nothing here depends on it".to_owned()],
            differences: Vec::new(),
        }
    }
}

/// A table of what became of the objects.
pub fn overview(applied: &[Applied]) -> String {
    table(
        ["OBJECT", "BECAME", "ID", "DETAILS"],
        applied.iter().map(|applied| {
            [
                applied.object.clone(),
                applied.action.words().to_owned(),
                applied.id.clone().unwrap_or_default(),
                applied.details.join(", "),
            ]
        }),
    )
}

/// What differs, line by line; empty where nothing does.
pub fn differences(applied: &[Applied]) -> String {
    let mut text = String::new();
    for one in applied.iter().filter(|one| one.differs()) {
        let _ = writeln!(text, "{}: {}", one.object, one.action.words());
        for difference in &one.differences {
            let Difference { field, is, becomes } = difference;
            let lines = |sign, side: &str| {
                side.lines()
                    .map(|line| format!("  {sign} {field}: {}\n", printable(line)))
                    .collect::<String>()
            };
            text.push_str(&lines('-', is));
            text.push_str(&lines('+', becomes));
        }
        let told = |detail: &&String| one.differences.iter().all(|difference| difference.field != **detail);
        for detail in one.details.iter().filter(told) {
            let _ = writeln!(text, "  ~ {}", printable(detail));
        }
    }
    text
}

/// An object's kind, namespace and name.
pub fn named(kind: &str, namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}
