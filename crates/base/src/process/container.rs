//! Whether this process runs in a container.

/// Whether this program runs in a container on the host, so that the host's files are elsewhere.
pub fn is_contained() -> bool {
    let mount_namespace = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    match (mount_namespace("1"), mount_namespace("self")) {
        (Some(host), Some(own)) => host != own,
        _ => false,
    }
}
