//! The controller's log, sent to the service by this host as long as the controller can't (installer-and-controller §A15.3).

use std::io;

use assisted_client::Error;
use flate2::Compression;
use flate2::write::GzEncoder;
use tracing::warn;

use super::Bootstrap;
use crate::host::INSTALL_DIR;
use crate::kube::Kube;

/// How much of the log, in seconds.
const SINCE: u32 = 3_600;
/// Where the controller leaves its log when there is no other way to it.
const FALLBACK: &str = "/tmp/controller_logs.log";
const ENTRY: &str = "assisted-installer-controller.logs";

/// Why the log isn't sent.
#[derive(Debug, thiserror::Error)]
pub enum ControllerLogError {
    #[error("the controller's log can't be packed: {0}")]
    Pack(#[from] io::Error),
    #[error(transparent)]
    Upload(#[from] Error),
}

impl Bootstrap<'_> {
    /// Sends the log of the controller, where it runs. A failure is only logged: another one will be sent.
    pub(super) async fn upload_controller_logs(&self, kube: &Kube) {
        let log = match kube.controller_log(SINCE).await {
            Ok(None) => return,
            Ok(Some(log)) if !log.is_empty() => log,
            Ok(Some(_)) => self.fallback("it is empty"),
            Err(error) => self.fallback(&error.to_string()),
        };
        if let Err(error) = self.send(&log).await {
            warn!(%error, "the controller's log isn't sent");
        }
    }

    fn fallback(&self, why: &str) -> Vec<u8> {
        self.host.read(FALLBACK).unwrap_or_else(|error| {
            format!("The controller's log can't be read: {why}; and there is no other: {error}\n")
                .into_bytes()
        })
    }

    async fn send(&self, log: &[u8]) -> Result<(), ControllerLogError> {
        let dir = self.host.path(INSTALL_DIR);
        let archive = dir.join("controller_logs.tar.gz");
        let file = std::fs::File::create(&archive)?;
        let mut builder = tar::Builder::new(GzEncoder::new(file, Compression::default()));
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(log.len() as u64);
        builder.append_data(&mut header, ENTRY, log)?;
        builder.into_inner()?.finish()?;
        let sent = self.service.upload_controller_logs(&archive).await;
        let _ = std::fs::remove_file(&archive);
        Ok(sent?)
    }
}
