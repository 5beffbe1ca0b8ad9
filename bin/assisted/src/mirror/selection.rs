//! What is asked about: a cluster of the service, or one that is thought of.

use std::path::PathBuf;

use assisted_config::Settings;
use assisted_console::{Failure, Global, file};
use assisted_core::catalogue::operators::{self, OPERATORS};
use assisted_core::catalogue::release::release_image;
use assisted_core::policy::Policy;
use assisted_release::{PullSecret, Reference};
use assisted_service::generator::openshift::RegistryAccess;
use assisted_service::policy::policy;
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::operator::OperatorType;
use assisted_wire::secret::Secret;
use clap::Args;

use super::plan::{Plan, Selection};
use crate::cli::{Context, progress};

/// Options that select what is to be installed.
#[derive(Args, Debug)]
pub struct SelectionArgs {
    /// A cluster of the service (id, beginning of an id, or name): its release, architecture and operators
    #[arg(long, value_name = "CLUSTER", conflicts_with_all = ["openshift_version", "architecture", "operators", "release_image"])]
    cluster: Option<String>,
    /// Version of OpenShift, one of RELEASE_IMAGES [default: the one that is offered first]
    #[arg(long, value_name = "VERSION", conflicts_with = "release_image")]
    openshift_version: Option<String>,
    /// Release image, where it is none of RELEASE_IMAGES
    #[arg(long, value_name = "IMAGE")]
    release_image: Option<String>,
    /// Architecture of the machines: x86_64, arm64, ppc64le, s390x, or multi for all that the release serves
    #[arg(long, value_name = "ARCHITECTURE", default_value = "x86_64")]
    architecture: CpuArchitecture,
    /// An operator that is to be installed with the cluster; those that it needs are added
    #[arg(long = "operator", value_name = "NAME")]
    operators: Vec<String>,
    /// The pull secret that registries are asked with
    #[arg(long, value_name = "FILE")]
    pull_secret_file: Option<PathBuf>,
}

impl SelectionArgs {
    /// The credentials that are given.
    pub(super) fn pull_secret(&self) -> Result<PullSecret, Failure> {
        let text: Secret = self.pull_secret_file.as_deref().map(file).transpose()?.unwrap_or_default().into();
        PullSecret::parse(&text).map_err(Failure::refused)
    }

    /// What the installation takes.
    pub(super) async fn plan(
        &self,
        settings: &Settings,
        access: &RegistryAccess,
        global: &Global,
    ) -> Result<Plan, Failure> {
        let policy = policy(settings).map_err(Failure::refused)?;
        let selection = match &self.cluster {
            Some(meant) => of_cluster(meant, global).await?,
            None => self.selection(&policy)?,
        };
        let session = access.registries.session(self.pull_secret()?);
        let plan = Plan::of(&selection, &policy, access, &session);
        Box::pin(progress::during("reads the release", plan)).await
    }

    fn selection(&self, policy: &Policy) -> Result<Selection, Failure> {
        let release = match &self.release_image {
            Some(image) => image.clone(),
            None => self.offered(policy)?,
        };
        Ok(Selection {
            release: reference(&release)?,
            architecture: self.architecture,
            operators: with_dependencies(&self.operators)?,
        })
    }

    fn offered(&self, policy: &Policy) -> Result<String, Failure> {
        let versions = &policy.versions;
        let Some(version) = &self.openshift_version else {
            let serving = || {
                versions
                    .release_images
                    .0
                    .iter()
                    .filter(|image| release_image::serves(image, self.architecture))
            };
            let first = serving().find(|image| image.default).or_else(|| serving().next_back());
            return first.map(|image| image.url.clone()).ok_or_else(|| {
                Failure::Refused(format!(
                    "RELEASE_IMAGES has no release for {}: name one with --release-image",
                    self.architecture
                ))
            });
        };
        let found = release_image::resolve(versions, version, self.architecture);
        found.map(|image| image.url.clone()).map_err(|error| {
            Failure::Refused(format!("{error}; name one of RELEASE_IMAGES, or an image with --release-image"))
        })
    }
}

async fn of_cluster(meant: &str, global: &Global) -> Result<Selection, Failure> {
    let cluster = Context::new(global)?.cluster(meant).await?;
    let rows = cluster.monitored_operators.iter().flatten();
    let own = rows.filter(|row| row.operator_type == Some(OperatorType::Olm)).map(|row| row.name.clone());
    Ok(Selection {
        release: reference(&cluster.ocp_release_image)?,
        architecture: cluster.cpu_architecture.unwrap_or(CpuArchitecture::X8664),
        operators: with_dependencies(&own.collect::<Vec<_>>())?,
    })
}

fn reference(text: &str) -> Result<Reference, Failure> {
    text.parse().map_err(|error| Failure::Refused(format!("the release image: {error}")))
}

/// Operators and those that they need, each once; on a single node some need more, which does no harm elsewhere.
fn with_dependencies(names: &[String]) -> Result<Vec<&'static operators::Operator>, Failure> {
    let mut found: Vec<&'static operators::Operator> = Vec::new();
    let mut left: Vec<String> = names.to_vec();
    while let Some(name) = left.pop() {
        let operator = OPERATORS.iter().find(|operator| operator.name == name).ok_or_else(|| {
            Failure::Refused(format!(
                "no operator has the name {name:?}; `assisted operator list` shows them"
            ))
        })?;
        if !found.iter().any(|known| known.name == operator.name) {
            found.push(operator);
            left.extend(operator.all_dependencies().map(str::to_owned));
        }
    }
    found.sort_by_key(|operator| operator.name);
    Ok(found)
}
