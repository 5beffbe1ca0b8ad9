//! How far a cluster is at the installer.

/// A cluster at the installer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::control_plane) struct Installation {
    /// Its status, as the REST API calls it; empty: none yet.
    pub(in crate::control_plane) state: String,
    /// Where its kubeconfig is, once there is one: the name of a Secret, or of a file.
    pub(in crate::control_plane) kubeconfig: Option<String>,
    /// What the installer does not take of the description, in its words.
    pub(in crate::control_plane) problem: Option<String>,
}
