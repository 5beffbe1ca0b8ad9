//! Versions, features and domains.

use super::*;
use crate::network::ListManagedDomains;
use crate::support_level::{DetailedSupportedFeatures, SupportedArchitectures, SupportedFeatures};
use crate::version::{ListVersions, OpenshiftVersions, ReleaseSources};

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        id: OperationId::ListManagedDomains,
        name: "V2ListManagedDomains",
        method: Method::Get,
        path: "/v2/domains",
        tags: &["managed_domains"],
        security: &[Security {
            scheme: Scheme::User,
            roles: &[Role::Admin, Role::ReadOnlyAdmin, Role::User],
        }],
        params: &[],
        body: None,
        success: &[Success {
            status: 200,
            payload: Some(Payload::json::<ListManagedDomains>()),
            headers: &[],
        }],
        errors: &[500],
        deprecated: false,
        consumes: None,
        produces: None,
    },
    Operation {
        id: OperationId::ListComponentVersions,
        name: "v2ListComponentVersions",
        method: Method::Get,
        path: "/v2/component-versions",
        tags: &["versions"],
        security: &[Security {
            scheme: Scheme::User,
            roles: &[Role::Admin, Role::ReadOnlyAdmin, Role::User],
        }],
        params: &[],
        body: None,
        success: &[Success { status: 200, payload: Some(Payload::json::<ListVersions>()), headers: &[] }],
        errors: &[],
        deprecated: false,
        consumes: None,
        produces: None,
    },
    Operation {
        id: OperationId::ListSupportedOpenshiftVersions,
        name: "v2ListSupportedOpenshiftVersions",
        method: Method::Get,
        path: "/v2/openshift-versions",
        tags: &["versions"],
        security: &[Security {
            scheme: Scheme::User,
            roles: &[Role::Admin, Role::ReadOnlyAdmin, Role::User],
        }],
        params: &[Param::query("version", Kind::String), Param::query("only_latest", Kind::Boolean)],
        body: None,
        success: &[Success {
            status: 200,
            payload: Some(Payload::json::<OpenshiftVersions>()),
            headers: &[],
        }],
        errors: &[400, 500, 503],
        deprecated: false,
        consumes: None,
        produces: None,
    },
    Operation {
        id: OperationId::ListReleaseSources,
        name: "v2ListReleaseSources",
        method: Method::Get,
        path: "/v2/release-sources",
        tags: &["versions"],
        security: &[Security {
            scheme: Scheme::User,
            roles: &[Role::Admin, Role::ReadOnlyAdmin, Role::User],
        }],
        params: &[],
        body: None,
        success: &[Success { status: 200, payload: Some(Payload::json::<ReleaseSources>()), headers: &[] }],
        errors: &[],
        deprecated: false,
        consumes: None,
        produces: None,
    },
    Operation {
        id: OperationId::GetSupportedFeatures,
        name: "GetSupportedFeatures",
        method: Method::Get,
        path: "/v2/support-levels/features",
        tags: &["installer"],
        security: &[Security {
            scheme: Scheme::User,
            roles: &[Role::Admin, Role::ReadOnlyAdmin, Role::User],
        }],
        params: &[
            Param::query("openshift_version", Kind::String).required(),
            Param::query("cpu_architecture", Kind::String)
                .one_of(&["x86_64", "aarch64", "arm64", "ppc64le", "s390x", "multi"])
                .default("x86_64"),
            Param::query("platform_type", Kind::String).one_of(&[
                "baremetal",
                "none",
                "nutanix",
                "vsphere",
                "external",
            ]),
            Param::query("external_platform_name", Kind::String),
        ],
        body: None,
        success: &[Success {
            status: 200,
            payload: Some(Payload::json::<SupportedFeatures>()),
            headers: &[],
        }],
        errors: &[400, 401, 403, 404, 503],
        deprecated: false,
        consumes: None,
        produces: None,
    },
    Operation {
        id: OperationId::GetDetailedSupportedFeatures,
        name: "GetDetailedSupportedFeatures",
        method: Method::Get,
        path: "/v2/support-levels/features/detailed",
        tags: &["installer"],
        security: &[Security {
            scheme: Scheme::User,
            roles: &[Role::Admin, Role::ReadOnlyAdmin, Role::User],
        }],
        params: &[
            Param::query("openshift_version", Kind::String).required(),
            Param::query("cpu_architecture", Kind::String)
                .one_of(&["x86_64", "arm64", "ppc64le", "s390x", "multi"])
                .default("x86_64"),
            Param::query("platform_type", Kind::String).one_of(&[
                "baremetal",
                "none",
                "nutanix",
                "vsphere",
                "external",
            ]),
            Param::query("external_platform_name", Kind::String),
        ],
        body: None,
        success: &[Success {
            status: 200,
            payload: Some(Payload::json::<DetailedSupportedFeatures>()),
            headers: &[],
        }],
        errors: &[400, 401, 403, 500],
        deprecated: false,
        consumes: None,
        produces: None,
    },
    Operation {
        id: OperationId::GetSupportedArchitectures,
        name: "GetSupportedArchitectures",
        method: Method::Get,
        path: "/v2/support-levels/architectures",
        tags: &["installer"],
        security: &[Security {
            scheme: Scheme::User,
            roles: &[Role::Admin, Role::ReadOnlyAdmin, Role::User],
        }],
        params: &[Param::query("openshift_version", Kind::String).required()],
        body: None,
        success: &[Success {
            status: 200,
            payload: Some(Payload::json::<SupportedArchitectures>()),
            headers: &[],
        }],
        errors: &[400, 401, 403, 404, 503],
        deprecated: false,
        consumes: None,
        produces: None,
    },
];
