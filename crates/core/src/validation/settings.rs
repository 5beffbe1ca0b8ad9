//! Which validations a cluster does without (validations §1.4).

use super::ids::ValidationId;

/// Validations whose outcome a cluster does not care about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IgnoredValidations<I> {
    /// All that may be ignored.
    All,
    /// These.
    Ids(Vec<I>),
}

impl<I: ValidationId> IgnoredValidations<I> {
    /// Out of the ids that a cluster keeps; what is not known among them is passed over.
    pub fn of(ids: &[String]) -> Self {
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
        let of = |ids: &[&str]| {
            let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
            IgnoredValidations::<HostValidationId>::of(&ids)
        };
        assert_eq!(of(&["all"]), IgnoredValidations::All);
        assert_eq!(of(&[]), IgnoredValidations::Ids(vec![]));
        assert_eq!(of(&["mtu-valid", "new-one"]), IgnoredValidations::Ids(vec![HostValidationId::MtuValid]));
        assert!(!of(&["all"]).contains(HostValidationId::HostnameUnique));
        assert!(!of(&["hostname-unique"]).contains(HostValidationId::HostnameUnique));
    }
}
