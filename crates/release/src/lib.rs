//! Release payloads, read straight from OCI registries.
