//! What workers bring back while an installation is prepared (state-machines §8.1, steps 9 and 10).

use assisted_wire::cluster::{ClusterStatus, InstallationPreparationStatus as Status};
use uuid::Uuid;

use crate::decide::refresh::WorkingCopy;
use crate::model::action::Attempt;
use crate::model::cluster::{ClusterRecord, PayloadImages};
use crate::model::decision::Decision;
use crate::model::event::catalogue;
use crate::model::facts::Facts;
use crate::state::cluster::preparation;

/// What the service reads from the generated files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Generated {
    /// The id that the new cluster will have.
    pub openshift_cluster_id: Option<Uuid>,
    /// Where the files are: see [`ClusterRecord::generated_folder`].
    pub folder: Option<String>,
}

/// The release payload was read: hosts can check whether they get its images.
pub fn payload_read(facts: &Facts, images: PayloadImages) -> Decision {
    let mut draft = WorkingCopy::new(facts);
    if let Some(record) = &mut draft.facts.cluster {
        record.payload = images;
    }
    draft.reconciled()
}

/// Whether a cluster still waits for the files of an attempt.
pub fn awaits(record: &ClusterRecord, attempt: Attempt) -> bool {
    let cluster = &record.cluster;
    let last = cluster.last_installation_preparation.as_ref().and_then(|last| last.status);
    cluster.status == ClusterStatus::PreparingForInstallation
        && attempt == cluster.install_started_at.0.into()
        && record.generated_for != Some(attempt)
        && last != Some(Status::Failed)
}

/// An attempt's files were generated, or could not be: `outcome` says why.
///
/// Harmless when it is reported twice, when the user has given the attempt up meanwhile, or begun another.
pub fn generated(facts: &Facts, attempt: Attempt, outcome: Result<Generated, String>) -> Decision {
    let mut draft = WorkingCopy::new(facts);
    if let Some(record) = draft.facts.cluster.as_mut().filter(|record| awaits(record, attempt)) {
        let cluster = &mut record.cluster;
        match outcome {
            Ok(generated) => {
                preparation::set(cluster, Status::Success, preparation::SUCCEEDED);
                cluster.openshift_cluster_id = generated.openshift_cluster_id;
                let spec = catalogue::CLUSTER_PREPARE_INSTALLATION_STARTED;
                draft.events.push(spec.of_cluster(cluster.id, &[]));
                record.generated_for = Some(attempt);
                record.generated_folder = generated.folder;
            }
            Err(error) => {
                preparation::set(cluster, Status::Failed, &error);
                let spec = catalogue::PREPARE_INSTALLATION_FAILED;
                draft.events.push(spec.of_cluster(cluster.id, &[("error", &error)]));
            }
        }
    }
    draft.reconciled()
}
