//! What the operator itself is told by its environment (kube-api §6.9).

/// Image of PostgreSQL, unless another one is set.
pub const DATABASE_IMAGE: &str = "quay.io/sclorg/postgresql-16-c9s:latest";

/// The operator's variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// Namespace in which everything runs.
    pub namespace: String,
    /// Name of the operator's pod; with it its node selector, tolerations and pull secrets are those of all that runs.
    pub pod_name: Option<String>,
    /// Image of this program; empty: that of the operator's pod.
    pub service_image: String,
    /// Image of the image service; empty: that of the service.
    pub image_service_image: String,
    /// Image of PostgreSQL.
    pub database_image: String,
    /// Images of agent, installer and controller on hosts and in clusters; empty: the service's own defaults.
    pub agent_image: String,
    pub installer_image: String,
    pub controller_image: String,
    /// Account of the service.
    pub service_account: String,
    /// Discovery images and must-gather images where the AgentServiceConfig names none, as JSON.
    pub os_images: String,
    pub must_gather_images: String,
    /// How long hosts may wait for the control plane.
    pub control_plane_timeout: String,
    /// What the operator is part of, if it is told; else it looks.
    pub distribution: Option<Distribution>,
    /// Proxies of the service and of the image service.
    pub http_proxy: String,
    pub https_proxy: String,
    pub no_proxy: String,
}

/// What an operator is part of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// Such as `ACM`.
    pub name: String,
    pub version: String,
}

/// Why the operator does not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    #[error("NAMESPACE is not set; set it to the namespace of the operator")]
    Namespace,
    #[error(
        "SERVICE_IMAGE is not set; set it to the image of this program, or POD_NAME to the name of the operator's pod"
    )]
    Image,
    #[error("{0} is not a JSON list")]
    List(&'static str),
    #[error("{0} is no duration such as 90m")]
    Duration(&'static str),
}

impl Environment {
    /// Reads the variables through `get`; one that is set and empty counts as not set.
    ///
    /// # Errors
    /// One that is needed is missing, or is of another form.
    pub fn read(get: &dyn Fn(&str) -> Option<String>) -> Result<Self, EnvironmentError> {
        let set = |name: &str| get(name).filter(|value| !value.is_empty());
        let or = |name: &str, default: &str| set(name).unwrap_or_else(|| default.to_owned());
        let either = |name: &str| set(name).or_else(|| set(&name.to_lowercase())).unwrap_or_default();
        let list = |name: &'static str| match set(name) {
            Some(text) if serde_json::from_str::<Vec<serde_json::Value>>(&text).is_err() => {
                Err(EnvironmentError::List(name))
            }
            text => Ok(text.unwrap_or_default()),
        };
        let timeout = "HOST_STAGE_WAITING_FOR_CONTROL_PLANE_TIMEOUT";
        let environment = Self {
            namespace: set("NAMESPACE").ok_or(EnvironmentError::Namespace)?,
            pod_name: set("POD_NAME"),
            service_image: or("SERVICE_IMAGE", ""),
            image_service_image: or("IMAGE_SERVICE_IMAGE", ""),
            database_image: or("DATABASE_IMAGE", DATABASE_IMAGE),
            agent_image: or("AGENT_IMAGE", ""),
            installer_image: or("INSTALLER_IMAGE", ""),
            controller_image: or("CONTROLLER_IMAGE", ""),
            service_account: or("SERVICE_ACCOUNT_NAME", "assisted-service"),
            os_images: list("OS_IMAGES")?,
            must_gather_images: list("MUST_GATHER_IMAGES")?,
            control_plane_timeout: or(timeout, "90m"),
            distribution: set("DEPLOYMENT_TYPE")
                .zip(set("DEPLOYMENT_VERSION"))
                .map(|(name, version)| Distribution { name, version }),
            http_proxy: either("HTTP_PROXY"),
            https_proxy: either("HTTPS_PROXY"),
            no_proxy: either("NO_PROXY"),
        };
        if assisted_config::parse_duration(&environment.control_plane_timeout).is_err() {
            return Err(EnvironmentError::Duration(timeout));
        }
        if environment.service_image.is_empty() && environment.pod_name.is_none() {
            return Err(EnvironmentError::Image);
        }
        Ok(environment)
    }
}
