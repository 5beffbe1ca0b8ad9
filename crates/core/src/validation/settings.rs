//! Which validations a cluster does without (validations §1.4).

use super::ids::ValidationId;

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
    use assisted_wire::host::HostValidationId;

    use super::*;

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
