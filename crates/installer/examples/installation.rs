//! An installation of a made-up machine, as the tests make them: the process that they kill. Arguments: the machine's folder,
//! the service's address, the host's role and the number of masters.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code)] // it shares the helpers of the tests

#[path = "../tests/it/machine.rs"]
mod machine;
#[path = "../../agent/tests/it/script.rs"]
mod script;
#[path = "../tests/it/service.rs"]
mod service;

use std::path::PathBuf;

use assisted_installer::Installer;
use assisted_wire::host::HostRole;

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [root, url, role, masters] = arguments.as_slice() else {
        panic!("which machine, which service, which role, and how many masters?")
    };
    let role: HostRole = role.parse().unwrap();
    let host = machine::Machine::host(&PathBuf::from(root));
    Installer::new(machine::config(url, role, masters.parse().unwrap()), host).unwrap().run().await.unwrap();
}
