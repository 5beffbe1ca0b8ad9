//! The differences from the contract that are meant, each with its reason.

use serde_json::Value;

/// A reviewed difference.
pub(super) struct Difference {
    /// How a place begins and ends.
    place: (&'static str, &'static str),
    /// What the contract has there; `None`: nothing.
    theirs: Option<&'static str>,
    /// What ours has there.
    ours: Option<&'static str>,
    pub(super) reason: &'static str,
}

impl Difference {
    pub(super) fn covers(&self, place: &str, theirs: Option<&Value>, ours: Option<&Value>) -> bool {
        place.starts_with(self.place.0)
            && place.ends_with(self.place.1)
            && theirs.map(Value::to_string).as_deref() == self.theirs
            && ours.map(Value::to_string).as_deref() == self.ours
    }
}

/// A reviewed addition: what the contract has nothing of.
pub(super) struct Addition {
    /// An operation or a definition, as a place names it.
    pub(super) what: &'static str,
    pub(super) reason: &'static str,
}

impl Addition {
    pub(super) fn covers(&self, place: &str, theirs: Option<&Value>) -> bool {
        let rest = place.strip_prefix(self.what);
        theirs.is_none() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '.', '[']))
    }
}

pub(super) const ADDITIONS: &[Addition] = &[
    Addition {
        what: "operation v2ListClusterValidations",
        reason: "validations_info has no room for what was measured, what is required and what to do",
    },
    Addition { what: "operation v2ListHostValidations", reason: "as for clusters" },
    Addition { what: "definition validation-list", reason: "what the two answer" },
    Addition { what: "definition validation", reason: "an item of that list" },
];

pub(super) const DIFFERENCES: &[Difference] = &[
    Difference {
        place: ("definition ", " format"),
        theirs: None,
        ours: Some("\"int64\""),
        reason: "our integers tell their width; without a format existing clients use 64 bits",
    },
    Difference {
        place: ("definition ", " format"),
        theirs: None,
        ours: Some("\"double\""),
        reason: "our numbers tell their width; without a format existing clients use 64 bits",
    },
    Difference {
        place: ("definition host-update-params.host_role ", "$ref"),
        theirs: None,
        ours: Some("\"#/definitions/host-role-update-params\""),
        reason: "the values of host_role have a name, under which the contract lists them too",
    },
    Difference {
        place: ("definition host-update-params.host_role ", "enum"),
        theirs: Some("[\"auto-assign\",\"master\",\"arbiter\",\"worker\"]"),
        ours: None,
        reason: "the values of host_role stand with their name",
    },
    Difference {
        place: ("definition host-update-params.host_role ", "type"),
        theirs: Some("\"string\""),
        ours: None,
        reason: "the type of host_role stands with its name",
    },
];
