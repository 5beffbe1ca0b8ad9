//! The caller of a use case.

use std::net::IpAddr;

use assisted_wire::identity::TokenResource;
use assisted_wire::machine::Machine;
use assisted_wire::operation::Role;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use uuid::Uuid;

use crate::digest;

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
    /// Whether objects are seen by the whole organisation, and not by their owners alone.
    pub tenancy: bool,
    /// Whether the caller may look and change nothing.
    pub read_only: bool,
    /// The one resource that the caller's token is for; `None`: not bound to one.
    pub resource: Option<TokenResource>,
    pub kind: Kind,
    /// The other side of the connection.
    pub peer: Option<IpAddr>,
    /// What an agent tells of its machine.
    pub machine: Option<Machine>,
    /// What is kept of the key that an agent shows.
    pub host_key: Option<Box<str>>,
    /// Stands in each event that the request brings about.
    pub request_id: Uuid,
}

/// Which kind of caller asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A person, or a program with a person's token; where nobody is authenticated, everybody.
    Person,
    /// An agent, an installer or a controller.
    Agent,
    /// Whoever has a signed URL.
    Link,
}

impl Caller {
    /// The caller of a service that authenticates nobody (service-api §14.2).
    pub fn admin(request_id: Uuid) -> Self {
        Self {
            user_name: "admin".to_owned(),
            role: Role::Admin,
            org_id: String::new(),
            email_domain: "Unknown".to_owned(),
            tenancy: false,
            read_only: false,
            resource: None,
            kind: Kind::Person,
            peer: None,
            machine: None,
            host_key: None,
            request_id,
        }
    }

    /// Notes the key that an agent shows.
    pub fn shows_key(&mut self, key: &str) {
        self.host_key = (!key.is_empty()).then(|| BASE64_URL_SAFE_NO_PAD.encode(digest::of(key)).into());
    }

    /// Whether the caller may see and change everybody's objects. A token for one resource never does.
    pub fn is_admin(&self) -> bool {
        matches!(self.role, Role::Admin | Role::ReadOnlyAdmin) && self.resource.is_none()
    }

    /// Whose objects a list shows: of one user, of one organisation, or with neither everybody's.
    pub fn lists(&self) -> (Option<String>, Option<String>) {
        if matches!(self.role, Role::Admin | Role::ReadOnlyAdmin) {
            (None, None)
        } else if self.tenancy {
            (None, Some(self.org_id.clone()))
        } else {
            (Some(self.user_name.clone()), None)
        }
    }

    /// Whether the caller may see an object of that owner.
    pub fn may_see(&self, user_name: &str, org_id: &str) -> bool {
        match self.lists() {
            (Some(own), _) => own == user_name,
            (None, Some(own)) => own == org_id,
            (None, None) => true,
        }
    }

    /// Whether the caller may change an object of that owner: its owner may, and administrators.
    pub fn may_change(&self, user_name: &str, org_id: &str) -> bool {
        let owns = matches!(self.role, Role::Admin) || self.user_name == user_name;
        !self.read_only && owns && self.may_see(user_name, org_id)
    }

    /// Whether passwords in objects, and addresses that open something, are shown to the caller.
    pub fn sees_secrets(&self) -> bool {
        self.kind == Kind::Person && !self.read_only
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(role: Role, tenancy: bool) -> Caller {
        let mut caller = Caller::admin(Uuid::nil());
        "ann".clone_into(&mut caller.user_name);
        "blue".clone_into(&mut caller.org_id);
        Caller { role, tenancy, ..caller }
    }

    #[test]
    fn who_sees_and_changes_what() {
        let admin = person(Role::Admin, true);
        let editor = person(Role::User, true);
        let alone = person(Role::User, false);
        let viewer = Caller { read_only: true, ..editor.clone() };
        for (owner, org, expected) in [
            // (admin, editor, without tenancy, viewer), each: sees, changes
            ("ann", "blue", [(true, true), (true, true), (true, true), (true, false)]),
            ("bob", "blue", [(true, true), (true, false), (false, false), (true, false)]),
            ("bob", "red", [(true, true), (false, false), (false, false), (false, false)]),
            // What the owner made in another organisation stays there.
            ("ann", "red", [(true, true), (false, false), (true, true), (false, false)]),
        ] {
            let found = [&admin, &editor, &alone, &viewer]
                .map(|caller| (caller.may_see(owner, org), caller.may_change(owner, org)));
            assert_eq!(found, expected, "{owner} {org}");
        }
        assert!(editor.sees_secrets() && !viewer.sees_secrets());
        assert!(!Caller { kind: Kind::Agent, ..admin }.sees_secrets());
    }
}
