//! A management controller: the emulator of sushy-tools (PyPI), with one machine that is no more than its notes.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::json;

use crate::listener::await_listener;
use crate::{Error, Port, python, tied};

const PROGRAM: &str = "sushy-emulator";

/// A running controller. It is killed when this is dropped, and when the thread that started it ends.
#[derive(Debug)]
pub struct ManagementController {
    child: Child,
    /// Address of the machine's resource.
    pub system: String,
    log: PathBuf,
    _port: Port,
}

impl ManagementController {
    /// Whom it lets in.
    pub const USER: &'static str = "admin";
    pub const PASSWORD: &'static str = "secret";
    /// The two as it keeps them.
    const ACCOUNT: &'static str = "admin:$2b$04$IvHTUn2lY6sGOsygIobjfuX6hulOZScLwdlmFvLDiXLTkqfCXBS8a\n";

    /// Starts a controller of a machine that is off. Each change of the machine is sent to `told`, as JSON, and waits for the
    /// answer. Its files are in `dir`.
    ///
    /// # Errors
    /// When sushy-tools is not installed, or does not listen in time.
    pub fn start(uuid: &str, mac: &str, told: Option<SocketAddr>, dir: &Path) -> Result<Self, Error> {
        let missing = |_| Error::NotInstalled { program: PROGRAM };
        let program = python().map_err(missing)?.with_file_name(PROGRAM);
        let port = Port::free()?;
        let number = port.number;
        let (account, settings, log) =
            (dir.join("accounts"), dir.join("emulator.conf"), dir.join("emulator.log"));
        std::fs::write(&account, Self::ACCOUNT)?;
        let system = json!({
            "uuid": uuid, "name": "real", "power_state": "Off", "nics": [{"mac": mac, "ip": "192.168.126.10"}],
        });
        // The settings are Python.
        let notified = if told.is_some() { "True" } else { "False" };
        let system = system.to_string().replacen('{', &format!("{{'external_notifier': {notified}, "), 1);
        let told =
            told.map(|told| format!("EXTERNAL_NOTIFICATION_URL = 'http://{told}'\n")).unwrap_or_default();
        let content = format!(
            "SUSHY_EMULATOR_LISTEN_IP = '127.0.0.1'\nSUSHY_EMULATOR_LISTEN_PORT = {number}\nSUSHY_EMULATOR_AUTH_FILE = '{}'\n\
             SUSHY_EMULATOR_STATE_DIR = '{}'\nSUSHY_EMULATOR_FAKE_DRIVER = True\nSUSHY_EMULATOR_FAKE_SYSTEMS = [{system}]\n{told}",
            account.display(),
            dir.display(),
        );
        std::fs::write(&settings, content)?;
        let child = tied(&program)
            .arg("--config")
            .arg(&settings)
            .env("TMPDIR", dir)
            .env("NO_PROXY", "*")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log)?)
            .spawn()
            .map_err(|source| Error::Run { program: PROGRAM, source })?;
        let system = format!("http://127.0.0.1:{number}/redfish/v1/Systems/{uuid}");
        let mut controller = Self { child, system, log, _port: port };
        await_listener(&mut controller.child, ([127, 0, 0, 1], number).into(), &controller.log)?;
        Ok(controller)
    }

    /// What it has written about itself.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for ManagementController {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
