//! What the conditions of Agents and InfraEnvs, and of what the operator runs, say: type, status, reason, message (kube-api §7.2, §7.3, §7.4).

/// Conditions of an Agent.
pub mod agent {
    use crate::condition::outcomes;

    outcomes! {
        SPEC_SYNCED_OK = "SpecSynced" True "SyncOK" "The Spec has been successfully applied";
        SPEC_SYNCED_BACKEND_ERROR = "SpecSynced" False "BackendError" "The Spec could not be synced due to backend error: {}";
        SPEC_SYNCED_INPUT_ERROR = "SpecSynced" False "InputError" "The Spec could not be synced due to an input error: {}";
        CONNECTED_AGENT_IS_DISCONNECTED = "Connected" False "AgentIsDisconnected" "The agent has not contacted the installation service in some time, user action should be taken";
        CONNECTED_AGENT_IS_CONNECTED = "Connected" True "AgentIsConnected" "The agent's connection to the installation service is unimpaired";
        REQUIREMENTS_MET_AGENT_IS_READY = "RequirementsMet" True "AgentIsReady" "The agent is ready to begin the installation";
        REQUIREMENTS_MET_AGENT_IS_NOT_APPROVED = "RequirementsMet" False "AgentIsNotApproved" "The agent is not approved";
        REQUIREMENTS_MET_AGENT_NOT_READY = "RequirementsMet" False "AgentNotReady" "The agent is not ready to begin the installation";
        REQUIREMENTS_MET_AGENT_ALREADY_INSTALLING = "RequirementsMet" True "AgentAlreadyInstalling" "Installation already started and is in progress";
        REQUIREMENTS_MET_AGENT_INSTALLATION_STOPPED = "RequirementsMet" True "AgentInstallationStopped" "The agent installation stopped";
        VALIDATED_VALIDATIONS_FAILING = "Validated" False "ValidationsFailing" "The agent's validations are failing: {}";
        VALIDATED_VALIDATIONS_USER_PENDING = "Validated" False "ValidationsUserPending" "The agent's validations are pending for user: {}";
        VALIDATED_VALIDATIONS_UNKNOWN = "Validated" Unknown "ValidationsUnknown" "The agent's validations have not yet been calculated";
        VALIDATED_VALIDATIONS_PASSING = "Validated" True "ValidationsPassing" "The agent's validations are passing";
        INSTALLED_INSTALLATION_COMPLETED = "Installed" True "InstallationCompleted" "The installation has completed: {}";
        INSTALLED_INSTALLATION_FAILED = "Installed" False "InstallationFailed" "The installation has failed: {}";
        INSTALLED_INSTALLATION_NOT_STARTED = "Installed" False "InstallationNotStarted" "The installation has not yet started";
        INSTALLED_INSTALLATION_IN_PROGRESS = "Installed" False "InstallationInProgress" "The installation is in progress: {}";
        BOUND_BOUND = "Bound" True "Bound" "The agent is bound to a cluster deployment";
        BOUND_UNBOUND = "Bound" False "Unbound" "The agent is not bound to any cluster deployment";
        BOUND_UNBINDING_PENDING_USER_ACTION = "Bound" False "UnbindingPendingUserAction" "The agent is currently unbinding; Pending host reboot from infraenv image";
        REQUIREMENTS_MET_BINDING = "RequirementsMet" False "Binding" "The agent is currently binding to a cluster deployment";
        VALIDATED_BINDING = "Validated" False "Binding" "The agent is currently binding to a cluster deployment";
        INSTALLED_BINDING = "Installed" False "Binding" "The agent is currently binding to a cluster deployment";
        BOUND_BINDING = "Bound" False "Binding" "The agent is currently binding to a cluster deployment";
        REQUIREMENTS_MET_UNBINDING = "RequirementsMet" False "Unbinding" "The agent is currently unbinding from a cluster deployment";
        VALIDATED_UNBINDING = "Validated" False "Unbinding" "The agent is currently unbinding from a cluster deployment";
        INSTALLED_UNBINDING = "Installed" False "Unbinding" "The agent is currently unbinding from a cluster deployment";
        BOUND_UNBINDING = "Bound" False "Unbinding" "The agent is currently unbinding from a cluster deployment";
        REQUIREMENTS_MET_UNKNOWN_STATUS = "RequirementsMet" Unknown "UnknownStatus" "The installation status is currently not recognized: {}";
        INSTALLED_UNKNOWN_STATUS = "Installed" Unknown "UnknownStatus" "The installation status is currently not recognized: {}";
        INSTALLED_NOT_AVAILABLE = "Installed" Unknown "NotAvailable" "Information not available";
        CONNECTED_NOT_AVAILABLE = "Connected" Unknown "NotAvailable" "Information not available";
        REQUIREMENTS_MET_NOT_AVAILABLE = "RequirementsMet" Unknown "NotAvailable" "Information not available";
        VALIDATED_NOT_AVAILABLE = "Validated" Unknown "NotAvailable" "Information not available";
        BOUND_NOT_AVAILABLE = "Bound" Unknown "NotAvailable" "Information not available";
        CLEANUP_CLEANUP_FAILED = "Cleanup" False "CleanupFailed" "{}";
    }
}

/// Conditions of an InfraEnv.
pub mod infra_env {
    use crate::condition::outcomes;

    outcomes! {
        IMAGE_CREATED_INFRA_ENV_AVAILABLE = "ImageCreated" True "InfraEnvAvailable" "InfraEnv is available: Image has been created";
        IMAGE_CREATED_INFRA_ENV_AVAILABLE_WITHOUT_IMAGE = "ImageCreated" True "InfraEnvAvailable" "InfraEnv is available";
        IMAGE_CREATED_IMAGE_CREATED = "ImageCreated" True "ImageCreated" "Image has been created";
        IMAGE_CREATED_IMAGE_CREATION_ERROR = "ImageCreated" False "ImageCreationError" "Failed to create image: {}";
        IMAGE_CREATED_IMAGE_CREATION_ERROR_INTERNAL = "ImageCreated" False "ImageCreationError" "Failed to create image due to an internal error: {}";
        IMAGE_CREATED_MISSING_CLUSTER_DEPLOYMENT = "ImageCreated" Unknown "MissingClusterDeployment" "ClusterDeployment is missing: {}";
    }
}

/// Conditions of an AgentClassification.
pub mod agent_classification {
    use crate::condition::outcomes;

    outcomes! {
        QUERY_ERRORS_HAS_QUERY_ERRORS = "QueryErrors" True "HasQueryErrors" "{} Agents failed to apply the classification";
        QUERY_ERRORS_NO_QUERY_ERRORS = "QueryErrors" False "NoQueryErrors" "No Agents failed to apply the classification";
    }
}

/// Conditions of an AgentServiceConfig.
pub mod agent_service_config {
    use crate::condition::outcomes;

    outcomes! {
        RECONCILE_COMPLETED_RECONCILE_SUCCEEDED = "ReconcileCompleted" True "ReconcileSucceeded" "AgentServiceConfig reconcile completed without error.";
        LOCAL_CLUSTER_MANAGED_NOT_ENABLED = "LocalClusterManaged" False "Local cluster import is not enabled" "Local cluster import is not enabled";
        LOCAL_CLUSTER_MANAGED_UNDETERMINED = "LocalClusterManaged" False "Unable to determine local cluster managed status." "expectd a single matching local managed cluster and received {} instead";
        LOCAL_CLUSTER_MANAGED_MANAGED = "LocalClusterManaged" True "Local cluster is managed." "";
        LOCAL_CLUSTER_MANAGED_NOT_MANAGED = "LocalClusterManaged" False "Local cluster is not managed." "";
        DEPLOYMENTS_HEALTHY_DEPLOYMENT_SUCCEEDED = "DeploymentsHealthy" True "DeploymentSucceeded" "All the deployments managed by Infrastructure-operator are healthy.";
        DEPLOYMENTS_HEALTHY_DEPLOYMENT_FAILURE = "DeploymentsHealthy" False "DeploymentFailure" "{}";
        DATA_PERSISTENT_EPHEMERAL_STORAGE = "DataPersistent" False "EphemeralStorage" "filesystemStorage is empty: the service keeps its files, and without databaseStorage its database, in its pod, and loses them with it. Give both a volume to keep them.";
    }
}

/// Why an AgentServiceConfig, or a HypershiftAgentServiceConfig, is not brought to where it should be (kube-api §6.9).
pub mod agent_service_config_failure {
    use crate::condition::outcomes;

    outcomes! {
        STORAGE = "ReconcileCompleted" False "StorageFailure" "{}";
        AGENT_SERVICE = "ReconcileCompleted" False "AgentServiceFailure" "{}";
        NETWORK_POLICY = "ReconcileCompleted" False "NetworkPolicyFailure" "{}";
        AGENT_LOCAL_AUTH_SECRET = "ReconcileCompleted" False "AgentLocalAuthSecretFailure" "{}";
        POSTGRES_SECRET = "ReconcileCompleted" False "PostgresSecretFailure" "{}";
        SEAL_KEYS_SECRET = "ReconcileCompleted" False "SealKeysSecretFailure" "{}";
        IMAGE_HANDLER_SERVICE = "ReconcileCompleted" False "ImageHandlerServiceFailure" "{}";
        IMAGE_HANDLER_SERVICE_ACCOUNT = "ReconcileCompleted" False "ImageHandlerServiceAccountFailure" "{}";
        AGENT_ROUTE = "ReconcileCompleted" False "AgentRouteFailure" "{}";
        IMAGE_HANDLER_ROUTE = "ReconcileCompleted" False "ImageHandlerRouteFailure" "{}";
        INGRESS_CERT = "ReconcileCompleted" False "IngressCertFailure" "{}";
        CERTIFICATE_CONFIGURATION = "ReconcileCompleted" False "CertificateConfigurationFailure" "{}";
        AGENT_SERVICE_MONITOR = "ReconcileCompleted" False "AgentServiceMonitorFailure" "{}";
        WEB_HOOK_SERVICE = "ReconcileCompleted" False "ReasonWebHookServiceFailure" "{}";
        WEB_HOOK_DEPLOYMENT = "ReconcileCompleted" False "ReasonWebHookDeploymentFailure" "{}";
        VALIDATING_WEB_HOOK = "ReconcileCompleted" False "ValidatingWebHookFailure" "{}";
        MUTATING_WEB_HOOK = "ReconcileCompleted" False "MutatingWebHookFailure" "{}";
        CONFIG = "ReconcileCompleted" False "ConfigFailure" "{}";
        DEPLOYMENT = "ReconcileCompleted" False "DeploymentFailure" "{}";
        IMAGE_HANDLER_STATEFUL_SET = "ReconcileCompleted" False "ImageHandlerStatefulSetFailure" "{}";
        IMMUTABLE_ANNOTATION = "ReconcileCompleted" False "ImmutableAnnotationFailure" "{}";
        KUBERNETES_INGRESS_CONFIG_MISSING = "ReconcileCompleted" False "KubernetesIngressConfigMissing" "{}";
        OS_IMAGES_SHOULD_BE_EMPTY = "ReconcileCompleted" False "OSImagesShouldBeEmptyFailure" "{}";
        OS_IMAGE_CA_CERT_REF = "ReconcileCompleted" False "OSImageCACertRefFailure" "{}";
        OS_IMAGE_ADDITIONAL_PARAMS_REF = "ReconcileCompleted" False "ReasonOSImageAdditionalParamsRefFailure" "{}";
    }
}

/// The same of a HypershiftAgentServiceConfig alone (kube-api §6.10).
pub mod hypershift_agent_service_config_failure {
    use crate::condition::outcomes;

    outcomes! {
        RBAC_CONFIGURATION = "ReconcileCompleted" False "ReasonRBACConfigurationFailure" "{}";
        KUBECONFIG_SECRET_FETCH = "ReconcileCompleted" False "ReasonKubeconfigSecretFetchFailure" "{}";
        SPOKE_CLIENT_CREATION = "ReconcileCompleted" False "ReasonSpokeClientCreationFailure" "{}";
        SPOKE_CLUSTER_CRDS_SYNC = "ReconcileCompleted" False "SpokeClusterCRDsSyncFailure" "{}";
        NAMESPACE_CREATION = "ReconcileCompleted" False "NamespaceCreationFailure" "{}";
        SERVICE_SERVICE_ACCOUNT = "ReconcileCompleted" False "ServiceServiceAccount" "{}";
        WEB_HOOK_SERVICE_ACCOUNT = "ReconcileCompleted" False "ReasonWebHookServiceAccountFailure" "{}";
    }
}
