//! Generates what the hosts of a cluster are installed with.

use assisted_base::error::chain;
use assisted_base::failpoint;
use assisted_core::decide::install::{Generated, awaits, generated, payload_read};
use assisted_core::layering::Violation;
use assisted_core::model::action::Attempt;
use assisted_core::model::cluster::PayloadImages;
use assisted_core::model::event::catalogue;
use assisted_core::model::facts::Facts;
use assisted_core::model::measurement::{Measured, Measurement, ProgramUsed};
use assisted_store::{Change, Deleted, QueuedAction, Subject};
use assisted_wire::id::ClusterId;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use uuid::Uuid;

use super::Actions;
use crate::Error;
use crate::attempt::{AttemptError, Retries, final_error};
use crate::generator::{Files, GenerateError};
use crate::stored_file::manifest;
use crate::stored_file::{GENERATED, key};

/// So often what breaks is tried; then the preparation has failed, and the user may try again.
const MOST_ATTEMPTS: u32 = 5;

impl Actions {
    /// Generates and stores the files of an attempt to install, and has the domain decide by how that went.
    pub(super) async fn generate(
        &self,
        asked: &QueuedAction,
        id: ClusterId,
        attempt: Attempt,
    ) -> Result<(), Error> {
        // Before the reading: what changes after it is heard.
        let changes = self.database.reader().changes();
        let work = self.database.load_installation(id).await.map_err(final_error)?;
        let Some(work) = work.filter(|work| work.cluster().is_some_and(|record| awaits(record, attempt)))
        else {
            // Given up meanwhile: nobody wants the files.
            return self.finish_action(asked).await;
        };
        let generated = tokio::select! {
            files = self.generate_files(id, attempt, &work.facts) => files,
            () = self.given_up(id, attempt, changes) => return self.finish_action(asked).await,
        };
        let used = generated.as_ref().ok().and_then(|files| files.program.clone());
        let warnings = generated.as_ref().map(|files| files.warnings.clone()).unwrap_or_default();
        let kept = match generated {
            Ok(files) => self.keep_files(id, files).await,
            Err(error) => Err(error),
        };
        let kept = match kept {
            Ok(generated) => self.tell_cluster_id(&work.facts, generated).await,
            Err(error) => Err(error),
        };
        let outcome = match kept {
            Ok(generated) => Ok(generated),
            Err(GenerateError::Refused(reason)) => Err(reason),
            Err(GenerateError::Broken(error)) if asked.attempts < MOST_ATTEMPTS => return Err(error),
            Err(GenerateError::Broken(error)) => Err(error.to_string()),
        };
        let mut tries = Retries::default();
        loop {
            match self.commit_outcome(asked, id, attempt, &outcome, used.as_ref(), &warnings).await {
                Ok(()) => break,
                // Whoever took it over commits its own outcome.
                Err(AttemptError::Conflict(Subject::Actions(_))) => return Ok(()),
                Err(AttemptError::Conflict(what)) => tries.again(what).await?,
                Err(error) => return Err(final_error(error)),
            }
        }
        if let Ok(generated) = &outcome
            && let Err(error) = self.delete_other_folders(id, generated).await
        {
            tracing::warn!(cluster = %id, error = %chain(&error), "files of earlier tries are left until the cluster is deleted");
        }
        Ok(())
    }

    async fn generate_files(
        &self,
        id: ClusterId,
        attempt: Attempt,
        facts: &Facts,
    ) -> Result<Files, GenerateError> {
        let generator = &self.generator;
        let failed = |error: std::io::Error| GenerateError::Broken(Error::internal(error));
        let step = failpoint::begin(|| "read the payload".to_owned()).map_err(failed)?;
        let payload = generator.payload(facts).await?;
        step.end().map_err(failed)?;
        if let Some(images) = &payload.images {
            self.commit_payload(id, attempt, images).await.map_err(GenerateError::Broken)?;
        }
        let step = failpoint::begin(|| "generate".to_owned()).map_err(failed)?;
        let files = generator.generate(facts, payload, &self.blob).await?;
        step.end().map_err(failed)?;
        Ok(files)
    }

    /// Commits the images of the release as soon as they are known: hosts check meanwhile whether they get them.
    async fn commit_payload(
        &self,
        id: ClusterId,
        attempt: Attempt,
        images: &PayloadImages,
    ) -> Result<(), Error> {
        let mut tries = Retries::default();
        loop {
            let committed = async {
                let Some(mut work) = self.database.load_cluster(id, Deleted::Hidden).await? else {
                    return Ok(());
                };
                if !work.cluster().is_some_and(|record| awaits(record, attempt) && record.payload != *images)
                {
                    return Ok(());
                }
                work.apply_and_mark(payload_read(&work.facts, images.clone()));
                work.commit(&self.database).await.map(|_| ())
            };
            match committed.await {
                Ok(()) => return Ok(()),
                Err(AttemptError::Conflict(what)) => tries.again(what).await?,
                Err(error) => return Err(final_error(error)),
            }
        }
    }

    /// Returns when nobody wants the files of an attempt any more.
    async fn given_up(&self, id: ClusterId, attempt: Attempt, mut changes: Receiver<Change>) {
        loop {
            match changes.recv().await {
                Ok(Change::Here(what) | Change::Elsewhere(what)) if what != Subject::Cluster(id) => continue,
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => std::future::pending().await,
            }
            match self.database.reader().cluster(id, Deleted::Hidden).await {
                Ok(stored) if stored.as_ref().is_none_or(|stored| !awaits(&stored.record, attempt)) => return,
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(cluster = %id, error = %chain(&error), "can't tell whether its files are still wanted");
                }
            }
        }
    }

    async fn keep_files(&self, id: ClusterId, files: Files) -> Result<Generated, GenerateError> {
        let folder = format!("{GENERATED}/{}", Uuid::new_v4().simple());
        manifest::put_generated(&self.blob, id, &folder, files.manifests)
            .await
            .map_err(GenerateError::Broken)?;
        for (name, content) in files.contents {
            let key = key(id, &format!("{folder}/{name}")).map_err(GenerateError::Broken)?;
            self.blob.put(&key, content).await.map_err(|error| GenerateError::Broken(error.into()))?;
        }
        Ok(Generated { openshift_cluster_id: Some(files.openshift_cluster_id), folder: Some(folder) })
    }

    /// Deletes the files of earlier tries and of processes that lost their leases. What one of those still writes afterwards
    /// nobody reads; it goes with the cluster.
    async fn delete_other_folders(&self, id: ClusterId, kept: &Generated) -> Result<(), Error> {
        let Some(folder) = &kept.folder else { return Ok(()) };
        let kept = format!("{id}/{folder}/");
        for (key, _) in self.blob.list(&key(id, GENERATED)?).await? {
            if !key.as_str().starts_with(&kept) {
                self.blob.delete(&key).await?;
            }
        }
        Ok(())
    }

    async fn commit_outcome(
        &self,
        asked: &QueuedAction,
        id: ClusterId,
        attempt: Attempt,
        outcome: &Result<Generated, String>,
        used: Option<&ProgramUsed>,
        warnings: &[Violation],
    ) -> Result<(), AttemptError> {
        let Some(mut work) = self.database.load_cluster(id, Deleted::Hidden).await? else {
            return Ok(self.finish_action(asked).await?);
        };
        let decided = generated(&work.facts, attempt, outcome.clone());
        let is_awaited = work.cluster().is_some_and(|record| awaits(record, attempt));
        work.apply_and_mark(decided);
        if is_awaited && outcome.is_ok() {
            let told = |warning: &Violation| catalogue::OCL_WARNING.of_cluster(id, &[("warning", warning)]);
            work.events.extend(warnings.iter().map(told));
        }
        work.batch.finish_action(asked);
        let used = used.map(|used| Measurement::of_cluster(id, Measured::ProgramUsed(used.clone())));
        work.measured.extend(used);
        work.commit(&self.database).await?;
        Ok(())
    }
}
