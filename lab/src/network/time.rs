//! The time: chrony, which tells this computer's and changes nothing.

use std::path::Path;

use super::running::Server;
use super::{GATEWAY, NetworkError};

pub(super) fn server(dir: &Path) -> Result<Server, NetworkError> {
    let settings = dir.join("chrony.conf");
    let text = format!(
        "local stratum 5\nallow\nbindaddress {GATEWAY}\ncmdport 0\npidfile {}/chrony.pid\n",
        dir.display()
    );
    std::fs::write(&settings, text).map_err(NetworkError::io(&settings))?;
    let arguments = ["-d", "-x", "-u", "root", "-f"].map(str::to_owned).into_iter();
    let arguments = arguments.chain([settings.display().to_string()]).collect();
    Ok(Server { program: "chronyd", arguments, log: dir.join("chrony.log") })
}
