//! Which validations a service or a cluster does without (validations §1.3, §1.4).

use std::collections::BTreeSet;

use super::ids::ValidationId;

/// A list of disabled validations that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DisabledListError {
    #[error("empty {kind} validation ID found in '{list}'")]
    Empty { kind: &'static str, list: String },
    #[error("disabled {kind} validation ID '{id}' is not a known {kind} validation")]
    Unknown { kind: &'static str, id: String },
}

/// Reads the items of a list of ids. None, or one of two quotes, is no id at all.
///
/// # Errors
///
/// An item is empty, or no id.
pub fn parse_disabled<I: ValidationId>(items: &[String]) -> Result<BTreeSet<I>, DisabledListError> {
    if items == ["\"\""] {
        return Ok(BTreeSet::new());
    }
    items
        .iter()
        .map(|item| match item.trim() {
            "" => Err(DisabledListError::Empty { kind: I::KIND, list: items.join(",") }),
            id => id.parse().map_err(|_| DisabledListError::Unknown { kind: I::KIND, id: id.to_owned() }),
        })
        .collect()
}

/// The ids of a list, without what is none: a list is refused at start, not here.
pub(super) fn disabled<I: ValidationId>(items: &[String]) -> BTreeSet<I> {
    items.iter().filter_map(|item| item.trim().parse().ok()).collect()
}

/// Validations whose outcome a cluster does not care about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ignored<I> {
    /// All that may be ignored.
    All,
    /// These.
    Ids(Vec<I>),
}

impl<I: ValidationId> Ignored<I> {
    /// Reads the stored list of a cluster; what is not known in it is passed over, as are lists that can't be read.
    pub fn parse(stored: &str) -> Self {
        let ids: Vec<String> = serde_json::from_str(stored).unwrap_or_default();
        if ids.iter().any(|id| id == "all") {
            return Self::All;
        }
        Self::Ids(ids.iter().filter_map(|id| id.parse().ok()).collect())
    }

    /// Whether the outcome of a validation does not matter.
    pub fn contains(&self, id: I) -> bool {
        let listed = match self {
            Self::All => true,
            Self::Ids(ids) => ids.contains(&id),
        };
        listed && !I::NEVER_IGNORED.contains(&id)
    }
}

#[cfg(test)]
mod tests {
    use assisted_wire::cluster::ClusterValidationId;
    use assisted_wire::host::HostValidationId;

    use super::*;

    #[test]
    fn disabled_lists() {
        let items = |list: &str| list.split(',').map(str::to_owned).collect::<Vec<_>>();
        let parse = |list: &str| parse_disabled::<HostValidationId>(&items(list));
        assert!(parse_disabled::<HostValidationId>(&[]).unwrap().is_empty());
        assert!(parse("\"\"").unwrap().is_empty());
        let both = parse(" ntp-synced , mtu-valid,ntp-synced").unwrap();
        assert_eq!(both, BTreeSet::from([HostValidationId::MtuValid, HostValidationId::NtpSynced]));
        assert_eq!(
            parse("ntp-synced,,mtu-valid").unwrap_err().to_string(),
            "empty host validation ID found in 'ntp-synced,,mtu-valid'"
        );
        assert_eq!(
            parse_disabled::<ClusterValidationId>(&items("ntp-synced")).unwrap_err().to_string(),
            "disabled cluster validation ID 'ntp-synced' is not a known cluster validation"
        );
    }

    #[test]
    fn ignored_lists() {
        let parse = Ignored::<HostValidationId>::parse;
        assert_eq!(parse(r#"["all"]"#), Ignored::All);
        assert_eq!(parse(""), Ignored::Ids(vec![]));
        assert_eq!(parse(r#"["mtu-valid","new-one"]"#), Ignored::Ids(vec![HostValidationId::MtuValid]));
        assert!(!parse(r#"["all"]"#).contains(HostValidationId::HostnameUnique));
        assert!(!parse(r#"["hostname-unique"]"#).contains(HostValidationId::HostnameUnique));
    }
}
