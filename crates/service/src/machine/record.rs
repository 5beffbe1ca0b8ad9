//! What is kept of a machine, and where.

use std::time::Duration;

use assisted_blob::{Error as BlobError, Key};
use assisted_bmc::Trust;
use assisted_core::model::refusal::Refusal;
use assisted_wire::rack::{MachineAction, MachineCreateParams, RackMachine};
use assisted_wire::secret::Secret;
use assisted_wire::time::DateTime;
use futures::{StreamExt, TryStreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Rack;
use crate::Error;

/// Folder of the files.
const FOLDER: &str = "machines";
/// Longest file, in bytes.
const LONGEST: u64 = 64 << 10;
/// Files that are read at the same time.
const AT_ONCE: usize = 16;

/// How long an action may take: the image is waited for, the machine is switched off, the controller fetches, the machine is switched on.
pub(super) const LIMIT: Duration = Duration::from_secs(40 * 60);

/// What is kept of a machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) id: Uuid,
    pub(super) name: String,
    pub(super) system: String,
    pub(super) user: String,
    pub(super) password: Secret,
    pub(super) insecure: bool,
    pub(super) created_at: DateTime,
    /// What was asked of it last.
    pub(super) action: Option<MachineAction>,
}

impl Record {
    pub(super) fn new(params: MachineCreateParams, now: Timestamp) -> Self {
        let MachineCreateParams { name, system, user, password, insecure } = params;
        let insecure = insecure.unwrap_or_default();
        Self {
            id: Uuid::new_v4(),
            name,
            system,
            user,
            password,
            insecure,
            created_at: now.into(),
            action: None,
        }
    }

    pub(super) fn trust(&self) -> Trust {
        if self.insecure { Trust::Any } else { Trust::System }
    }

    pub(super) fn busy(&self) -> Refusal {
        let what = self.action.as_ref().map_or("something", |action| action.what.as_str());
        Refusal::conflict(format!("machine {:?} is busy with {what}; wait for its end", self.name))
    }
}

impl Rack {
    pub(super) async fn all(&self) -> Result<Vec<Record>, Error> {
        let files = self.blob.list(&key(FOLDER)?).await?;
        let read = stream::iter(files).map(|(key, _)| async move {
            match self.blob.get(&key, LONGEST).await {
                Ok(text) => Ok(serde_json::from_slice(&text).ok()),
                // Removed meanwhile.
                Err(BlobError::NotFound(_)) => Ok(None),
                Err(error) => Err(Error::from(error)),
            }
        });
        read.buffer_unordered(AT_ONCE)
            .try_filter_map(|record: Option<Record>| async { Ok(record) })
            .try_collect()
            .await
    }

    pub(super) async fn read(&self, id: Uuid) -> Result<Record, Error> {
        match self.blob.get(&file(id)?, LONGEST).await {
            Ok(text) => serde_json::from_slice(&text).map_err(Error::internal),
            Err(BlobError::NotFound(_) | BlobError::Shadowed(_)) => {
                Err(Refusal::not_found(format!("machine {id} does not exist")).into())
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn write(&self, record: &Record) -> Result<(), Error> {
        let text = serde_json::to_vec(record).map_err(Error::internal)?;
        Ok(self.blob.put(&file(record.id)?, text).await?)
    }

    pub(super) async fn delete(&self, id: Uuid) -> Result<(), Error> {
        self.blob.delete(&file(id)?).await?;
        Ok(())
    }

    /// Whether something is asked of the machine: by this process, or lately by another one.
    pub(super) fn is_busy(&self, record: &Record) -> bool {
        let lately = SignedDuration::try_from(LIMIT).unwrap_or(SignedDuration::MAX);
        let runs = |action: &MachineAction| {
            action.state == "running" && self.database.now().duration_since(action.started_at.0) < lately
        };
        self.busy.lock().contains(&record.id) || record.action.as_ref().is_some_and(runs)
    }

    /// What callers are shown. An action whose process died has an end, too.
    pub(super) fn shown(&self, record: Record) -> RackMachine {
        let is_busy = self.is_busy(&record);
        // Whoever reads that it is done may ask for the next thing.
        let is_ending = self.busy.lock().contains(&record.id);
        let Record { id, name, system, user, insecure, created_at, mut action, .. } = record;
        if let Some(action) = action.as_mut().filter(|action| action.state == "running" && !is_busy) {
            "failed".clone_into(&mut action.state);
            action.message = Some("the service ended before it was done; ask for it again".to_owned());
        }
        if let Some(action) = action.as_mut().filter(|_| is_ending) {
            "running".clone_into(&mut action.state);
            action.ended_at = None;
        }
        RackMachine { id, name, system, user, insecure, created_at, power: None, problem: None, action }
    }
}

fn key(text: &str) -> Result<Key, Error> {
    Key::new(text).map_err(Error::internal)
}

fn file(id: Uuid) -> Result<Key, Error> {
    key(&format!("{FOLDER}/{id}.json"))
}
