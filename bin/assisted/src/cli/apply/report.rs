//! What became of each object.

use assisted_console::output::table;
use serde::Serialize;

/// What was done, or would be.
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
    pub fn change(dry_run: bool) -> Self {
        if dry_run { Self::WouldBeChanged } else { Self::Changed }
    }

    /// What a creation is called: done, or not yet.
    pub fn creation(dry_run: bool) -> Self {
        if dry_run { Self::WouldBeCreated } else { Self::Created }
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

/// What became of an object.
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
}

impl Applied {
    /// An object that asks nothing of the service.
    pub fn passed_over(object: &str) -> Self {
        Self {
            object: object.to_owned(),
            action: Action::PassedOver,
            id: None,
            details: vec!["nothing here depends on it".to_owned()],
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

/// An object's kind, namespace and name.
pub fn named(kind: &str, namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}
