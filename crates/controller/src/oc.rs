//! OpenShift's client, run against the cluster.

use assisted_base::process::{Cmd, CmdError, CmdOutput};

use crate::context::Context;
use crate::service::FileError;

/// Why the client did not do what it was told.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OcError {
    #[error("no kubeconfig")]
    Kubeconfig(#[from] FileError),
    #[error("OpenShift's client can't be run")]
    Run(#[from] CmdError),
    #[error("OpenShift's client failed: {0}")]
    Failed(String),
}

/// Runs the client with the cluster's kubeconfig; `arguments` adds what it is to do, and within which time.
pub(crate) async fn run(context: &Context, arguments: impl FnOnce(Cmd) -> Cmd) -> Result<CmdOutput, OcError> {
    let kubeconfig = context.service.kubeconfig().await?;
    let client = Cmd::new(&context.config.paths.oc).arg("--kubeconfig").arg(kubeconfig.path());
    let output = arguments(client).run().await?;
    if output.success() { Ok(output) } else { Err(OcError::Failed(output.complaint())) }
}
