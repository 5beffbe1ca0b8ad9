//! The process: its listener, its addresses, and who may do what.

use std::time::Duration;

use assisted_wire::secret::Secret;

use crate::topic::topic;
use crate::value::choice;

topic! {
    /// Process, listener and addresses.
    Http {
        /// External URL of this service: put into Ignition, signed URLs and the steps of agents.
        service_base_url: String = String::new(), "SERVICE_BASE_URL";
        /// External URL of the image service.
        image_service_base_url: String = String::new(), "IMAGE_SERVICE_BASE_URL";
        /// Whether there is an image service; without it there are no download URLs, and OS images are not needed.
        enable_image_service: bool = true, "ENABLE_IMAGE_SERVICE";
        /// Whether the listener speaks TLS; it does in any case where HTTPS_KEY_FILE and HTTPS_CERT_FILE are set.
        serve_https: bool = false, "SERVE_HTTPS";
        /// File with the private key of the TLS listener, PEM.
        https_key_file: String = String::new(), "HTTPS_KEY_FILE";
        /// File with the certificate chain of the TLS listener, PEM.
        https_cert_file: String = String::new(), "HTTPS_CERT_FILE";
        /// Port for plain HTTP: beside HTTPS for iPXE scripts alone, without it instead of the listener's own; empty: none.
        http_listen_port: String = String::new(), "HTTP_LISTEN_PORT";
        /// Lowest TLS version accepted; empty: that of the TLS library.
        tls_min_version: String = String::new(), "TLS_MIN_VERSION";
        /// File with the CA that agents trust, PEM.
        service_ca_cert_path: String = String::new(), "SERVICE_CA_CERT_PATH";
        /// Whether agents skip the verification of the service's certificate.
        skip_cert_verification: bool = false, "SKIP_CERT_VERIFICATION";
        /// Origins that browsers may call from; empty: CORS is off.
        allowed_domains: Vec<String> = Vec::new(), "ALLOWED_DOMAINS";
        /// Names under which the service is called, besides its addresses and that of SERVICE_BASE_URL: a browser that was led
        /// here by another name is sent away.
        allowed_hosts: Vec<String> = Vec::new(), "ALLOWED_HOSTS";
        /// How long the service may be busy before it counts as not healthy.
        liveness_validation_timeout: Duration = Duration::from_secs(5 * 60), "LIVENESS_VALIDATION_TIMEOUT";
        /// Whether a body with a member that is not known is refused.
        enable_reject_unknown_fields: bool = true, "ENABLE_REJECT_UNKNOWN_FIELDS";
        /// Who drives the installation: assisted-installer or agent-installer.
        install_invoker: String = "assisted-installer".to_owned(), "INSTALL_INVOKER";
        /// Log level: error, warn, info, debug or trace.
        log_level: String = "info".to_owned(), "LOG_LEVEL";
        /// Log format: text or json.
        log_format: String = "text".to_owned(), "LOG_FORMAT";
        /// Folder of database and files; empty: assisted in the user's data folder.
        work_dir: String = String::new(), "WORK_DIR";
        /// Name of this replica, for its log and PostgreSQL's list of connections.
        pod_name: String = String::new(), "POD_NAME";
    }
}

/// How requests are authenticated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuthType {
    /// Not at all: everyone is the administrator.
    #[default]
    None,
    /// Tokens that this service signs, each for one resource.
    Local,
    /// People by their sessions and tokens; agents and URLs by tokens that this service signs.
    Users,
    /// Tokens that the agent-based installer signs, one for each kind of caller.
    AgentInstallerLocal,
    /// Tokens of an external identity provider.
    Rhsso,
}

choice! {
    AuthType, "none, local, users, agent-installer-local or rhsso",
    "none" => Self::None,
    "local" => Self::Local,
    "users" => Self::Users,
    "agent-installer-local" => Self::AgentInstallerLocal,
    "rhsso" => Self::Rhsso,
}

topic! {
    /// Who may do what.
    Auth {
        /// How requests are authenticated.
        auth_type: AuthType = AuthType::None, "AUTH_TYPE";
        /// Key that verifies local tokens, PEM; with AUTH_TYPE=agent-installer-local the same in base64.
        ec_public_key_pem: String = String::new(), "EC_PUBLIC_KEY_PEM";
        /// Key that signs local tokens, PEM; empty with AUTH_TYPE=users: one that is made and kept in the database.
        ec_private_key_pem: Secret = Secret::default(), "EC_PRIVATE_KEY_PEM";
        /// Whether a local token in a URL reaches only the resource that it was made for.
        local_auth_enforce_resource_scope: bool = true, "LOCAL_AUTH_ENFORCE_RESOURCE_SCOPE";
        /// Whether the token of one infra-env opens all others and all clusters to agents, as with the replaced service.
        agent_tokens_unscoped: bool = false, "AGENT_TOKENS_UNSCOPED";
        /// Whether agents need a key of their own, which those of the replaced service have not: then no machine speaks as another.
        agent_keys_required: bool = false, "AGENT_KEYS_REQUIRED";
        /// How long the address of a discovery image is good with AUTH_TYPE=users and rhsso.
        image_expiration_time: Duration = Duration::from_secs(4 * 3600), "IMAGE_EXPIRATION_TIME";
    }
}

topic! {
    /// An identity provider that lets people in, with AUTH_TYPE=users.
    Oidc {
        /// Address of an OpenID Connect provider, by which people log in; empty: by name and password alone.
        issuer: String = String::new(), "OIDC_ISSUER";
        /// Name under which the provider knows this service.
        client_id: String = String::new(), "OIDC_CLIENT_ID";
        /// Secret that belongs to the name; empty: it has none.
        client_secret: Secret = Secret::default(), "OIDC_CLIENT_SECRET";
        /// What the provider is asked for.
        scopes: Vec<String> = vec!["openid".to_owned(), "profile".to_owned(), "email".to_owned()], "OIDC_SCOPES";
        /// File with authorities that the provider's certificate may be of, besides those of the system, PEM.
        ca_file: String = String::new(), "OIDC_CA_FILE";
        /// Claim with the name of a person.
        name_claim: String = "preferred_username".to_owned(), "OIDC_NAME_CLAIM";
        /// Claim with the organisation of a person; empty: people have none.
        organisation_claim: String = String::new(), "OIDC_ORGANISATION_CLAIM";
        /// Claim whose values give roles; one within others is written with dots, such as realm_access.roles.
        roles_claim: String = "groups".to_owned(), "OIDC_ROLES_CLAIM";
        /// Values that make administrators; * is any.
        admins: Vec<String> = Vec::new(), "OIDC_ADMINS";
        /// Values that make editors; * is any.
        editors: Vec<String> = Vec::new(), "OIDC_EDITORS";
        /// Values that make viewers; * is any.
        viewers: Vec<String> = Vec::new(), "OIDC_VIEWERS";
    }
}

topic! {
    /// Accounts of an external service (that of OCM_BASE_URL), with AUTH_TYPE=rhsso.
    Accounts {
        /// Where the keys that verify users' tokens are fetched, as a JSON Web Key Set.
        jwks_url: String = "https://api.openshift.com/.well-known/jwks.json".to_owned(), "JWKS_URL";
        /// These keys themselves, as JSON; they win over JWKS_URL.
        jwks_cert: String = String::new(), "JWKS_CERT";
        /// Users who are administrators.
        admin_users: Vec<String> = Vec::new(), "ADMIN_USERS";
        /// Whether users see what others of their organisation have made.
        org_tenancy: bool = false, "ENABLE_ORG_TENANCY";
        /// Whether soft time limits and ignored validations are only for organisations that the account service grants them to.
        org_feature_gates: bool = false, "ENABLE_ORG_BASED_FEATURE_GATES";
        /// Where this service gets its own token for the account service.
        ocm_token_url: String =
            "https://sso.redhat.com/auth/realms/redhat-external/protocol/openid-connect/token".to_owned(),
            "OCM_TOKEN_URL";
        /// Name under which this service asks the account service.
        ocm_service_client_id: String = String::new(), "OCM_SERVICE_CLIENT_ID";
        /// Secret that belongs to the name.
        ocm_service_client_secret: Secret = Secret::default(), "OCM_SERVICE_CLIENT_SECRET";
    }
}
