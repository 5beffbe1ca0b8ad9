//! The caller of a use case, as the authentication found out.

use assisted_wire::id::{ClusterId, InfraEnvId};
use assisted_wire::operation::Role;
use uuid::Uuid;

/// Who asks, as the authentication found out.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Name under which objects are registered.
    pub user_name: String,
    pub role: Role,
    /// The organisation; empty without one.
    pub org_id: String,
    /// Domain of the caller's e-mail address; `Unknown` without one.
    pub email_domain: String,
    /// The one resource that the caller's token is for; `None`: not bound to one.
    pub resource: Option<TokenResource>,
    /// Stands in each event that the request brings about.
    pub request_id: Uuid,
}

/// The resource that a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenResource {
    InfraEnv(InfraEnvId),
    Cluster(ClusterId),
}

impl Caller {
    /// The caller of a service that authenticates nobody (service-api §14.2).
    pub fn admin(request_id: Uuid) -> Self {
        Self {
            user_name: "admin".to_owned(),
            role: Role::Admin,
            org_id: String::new(),
            email_domain: "Unknown".to_owned(),
            resource: None,
            request_id,
        }
    }

    /// Whether the caller may see and change everybody's objects. A token for one resource never does.
    pub fn is_admin(&self) -> bool {
        matches!(self.role, Role::Admin | Role::ReadOnlyAdmin) && self.resource.is_none()
    }
}
