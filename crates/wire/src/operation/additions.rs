//! Operations beside those of the contract. They change none of it; a client that knows nothing of them misses nothing, and
//! one that does must do without them against another service, which answers 404.

use super::*;
use crate::validation::ValidationList;

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        id: OperationId::ListClusterValidations,
        name: "v2ListClusterValidations",
        method: Method::Get,
        path: "/v2/clusters/{cluster_id}/validations",
        tags: &["installer"],
        security: &[Security {
            scheme: Scheme::User,
            roles: &[Role::Admin, Role::ReadOnlyAdmin, Role::User],
        }],
        params: &[Param::path("cluster_id", Kind::String).format("uuid")],
        body: None,
        success: &[Success { status: 200, payload: Some(Payload::json::<ValidationList>()), headers: &[] }],
        errors: &[401, 403, 404, 405, 500],
        deprecated: false,
        consumes: None,
        produces: None,
    },
    Operation {
        id: OperationId::ListHostValidations,
        name: "v2ListHostValidations",
        method: Method::Get,
        path: "/v2/infra-envs/{infra_env_id}/hosts/{host_id}/validations",
        tags: &["installer"],
        security: &[Security {
            scheme: Scheme::User,
            roles: &[Role::Admin, Role::ReadOnlyAdmin, Role::User],
        }],
        params: &[
            Param::path("infra_env_id", Kind::String).format("uuid"),
            Param::path("host_id", Kind::String).format("uuid"),
        ],
        body: None,
        success: &[Success { status: 200, payload: Some(Payload::json::<ValidationList>()), headers: &[] }],
        errors: &[401, 403, 404, 405, 409, 500],
        deprecated: false,
        consumes: None,
        produces: None,
    },
];
