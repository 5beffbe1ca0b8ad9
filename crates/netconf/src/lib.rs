//! Static networking of a host: NMState YAML to NetworkManager keyfiles, and which host they belong to.
