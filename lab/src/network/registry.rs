//! Images of containers: Debian's registry, over plain HTTP, for everyone.

use std::path::Path;

use super::running::Server;
use super::{GATEWAY, NetworkError};

/// Its name, as images have it; the lab's hosts take it without TLS.
pub const REGISTRY: &str = "192.168.126.1:5000";

/// Serves what is in `dir/registry`.
pub(super) fn server(dir: &Path) -> Result<Server, NetworkError> {
    let settings = dir.join("registry.json");
    // JSON is YAML; paths need no other quoting.
    let text = serde_json::json!({
        "version": "0.1",
        "log": {"accesslog": {"disabled": true}, "level": "warn"},
        "storage": {"filesystem": {"rootdirectory": dir.join("registry")}},
        "http": {"addr": format!("{GATEWAY}:5000")},
    });
    std::fs::write(&settings, text.to_string()).map_err(NetworkError::io(&settings))?;
    let arguments = vec!["serve".to_owned(), settings.display().to_string()];
    Ok(Server { program: "docker-registry", arguments, log: dir.join("registry.log") })
}
