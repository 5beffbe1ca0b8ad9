//! Owners of objects.

use assisted_core::admission::Owner;

use crate::Caller;

/// Whose a new object of a caller is.
pub(crate) fn owner(caller: &Caller) -> Owner {
    Owner {
        user_name: caller.user_name.clone(),
        org_id: caller.org_id.clone(),
        email_domain: caller.email_domain.clone(),
    }
}
