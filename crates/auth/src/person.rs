//! What a person may do.

use assisted_wire::identity::PersonRole;
use assisted_wire::operation::{Method, Operation, OperationId, Role};

/// Operations that only look, and whose answers open something: certificates' keys, pull secrets, tokens, root's files.
const OPENING: &[OperationId] = &[
    OperationId::DownloadClusterFiles,
    OperationId::DownloadClusterCredentials,
    OperationId::DownloadClusterLogs,
    OperationId::DownloadHostIgnition,
    OperationId::DownloadInfraEnvFiles,
    OperationId::DownloadMinimalInitrd,
    OperationId::GetClusterInstallConfig,
    OperationId::GetCredentials,
    OperationId::GetHostIgnition,
    OperationId::GetInfraEnvDownloadURL,
    OperationId::GetInfraEnvPresignedFileURL,
    OperationId::GetPresignedForClusterCredentials,
    OperationId::GetPresignedForClusterFiles,
    OperationId::RenderCluster,
];

/// What a role is for use cases and in the table of operations.
pub const fn role(person: PersonRole) -> Role {
    match person {
        PersonRole::Viewer | PersonRole::Editor => Role::User,
        PersonRole::Admin => Role::Admin,
    }
}

/// Whether a role may ask for an operation at all; `roles` are those of its row in the table, none meaning all. Unlike those of
/// an account service, administrators here are owners of everything.
pub fn admits(person: PersonRole, operation: &Operation, roles: &[Role]) -> bool {
    let listed = roles.is_empty() || roles.contains(&Role::User);
    match person {
        PersonRole::Admin => true,
        PersonRole::Editor => listed,
        PersonRole::Viewer => listed && operation.method == Method::Get && !OPENING.contains(&operation.id),
    }
}

#[cfg(test)]
mod tests {
    use assisted_wire::operation::{self, Scheme};

    use super::*;

    #[test]
    fn each_role_admits_what_the_one_below_does() {
        for operation in operation::all() {
            let Some(security) = operation.security.iter().find(|security| security.scheme == Scheme::User)
            else {
                continue;
            };
            let found = PersonRole::ALL.map(|role| admits(role, operation, security.roles));
            assert!(found.is_sorted(), "{} {found:?}", operation.name);
            assert!(found[2], "{}", operation.name);
            assert!(!found[0] || operation.method == Method::Get, "{}", operation.name);
        }
    }
}
