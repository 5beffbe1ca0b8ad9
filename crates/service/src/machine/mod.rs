//! Machines by their management controllers (Redfish), for administrators: known with address and account, switched on and off, and
//! started once from a discovery image.
//!
//! A machine is a file, sealed as all others are, for there is a password in it; there are as many as a rack has, and nothing is searched
//! in them. What is asked of a controller takes minutes: it is answered at once, done behind it, and its state stands with the machine.

mod action;
mod record;

use std::collections::HashSet;
use std::sync::Arc;

use assisted_blob::Blob;
use assisted_bmc::{Access, Machine, RedfishError};
use assisted_core::model::refusal::{Refusal, RefusalKind};
use assisted_wire::id::InfraEnvId;
use assisted_wire::operation::Role;
use assisted_wire::rack::{MachineCreateParams, MachineList, MachinePower, RackMachine};
use parking_lot::Mutex;
use tokio::time::{Duration, timeout};
use uuid::Uuid;

use crate::database::Database;
use crate::infra_env::InfraEnvs;
use crate::parts::Parts;
use crate::{Caller, Error};
use action::Task;
use record::Record;

/// Machines at most.
const MOST: usize = 1000;
/// Longest name, in bytes.
const LONGEST_NAME: usize = 64;
/// Longest address, account or password, in bytes.
const LONGEST_TEXT: usize = 1024;
/// How long a controller may take to say whether it is one, and whether its machine is on.
const ANSWER: Duration = Duration::from_secs(25);

/// The use cases of machines.
pub struct Machines(Arc<Rack>);

/// What an action goes on with behind its answer.
struct Rack {
    blob: Blob,
    database: Arc<Database>,
    infra_envs: InfraEnvs,
    /// Those of which something is asked by this process.
    busy: Mutex<HashSet<Uuid>>,
    /// Two at a time would not see each other's name.
    adding: tokio::sync::Mutex<()>,
}

impl Machines {
    pub(crate) fn new(parts: &Parts) -> Self {
        Self(Arc::new(Rack {
            blob: parts.blob.clone(),
            database: Arc::clone(&parts.database),
            infra_envs: InfraEnvs::new(parts),
            busy: Mutex::default(),
            adding: tokio::sync::Mutex::default(),
        }))
    }

    /// All machines, by their names; no controller is asked.
    ///
    /// # Errors
    ///
    /// 403 for others than administrators.
    pub async fn list(&self, caller: &Caller) -> Result<MachineList, Error> {
        sees(caller)?;
        let rack = &self.0;
        let mut found: Vec<RackMachine> =
            rack.all().await?.into_iter().map(|record| rack.shown(record)).collect();
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(MachineList(found))
    }

    /// One machine, with what its controller says of its power.
    ///
    /// # Errors
    ///
    /// 403 for others than administrators, 404 when there is none.
    pub async fn get(&self, caller: &Caller, id: Uuid) -> Result<RackMachine, Error> {
        sees(caller)?;
        let rack = &self.0;
        let record = rack.read(id).await?;
        let asked = async { connect(&record).await?.power().await };
        let (power, problem) = match timeout(ANSWER, asked).await {
            Ok(Ok(power)) => (Some(power.to_string()), None),
            Ok(Err(error)) => (None, Some(error.to_string())),
            Err(_) => (None, Some(late())),
        };
        Ok(RackMachine { power, problem, ..rack.shown(record) })
    }

    /// Makes a machine known, once its controller has taken the account.
    ///
    /// # Errors
    ///
    /// 403 for others than administrators; 400 for texts that are too long or empty; 409 for a name that another has, and for more machines
    /// than there may be; 422 with what the controller says, or why it is not reached.
    pub async fn add(&self, caller: &Caller, params: MachineCreateParams) -> Result<RackMachine, Error> {
        changes(caller)?;
        check(&params)?;
        let rack = &self.0;
        let record = Record::new(params, rack.database.now());
        let power = match timeout(ANSWER, async { connect(&record).await?.power().await }).await {
            Ok(Ok(power)) => power.to_string(),
            Ok(Err(error)) => return Err(unusable(&error)),
            Err(_) => return Err(unusable(&late())),
        };
        let _turn = rack.adding.lock().await;
        let known = rack.all().await?;
        if known.len() >= MOST {
            return Err(Refusal::conflict(format!("there are {MOST} machines already; remove some")).into());
        }
        if known.iter().any(|other| other.name == record.name) {
            return Err(Refusal::conflict(format!("a machine is called {:?} already", record.name)).into());
        }
        rack.write(&record).await?;
        tracing::info!(machine = %record.id, name = record.name, user = caller.user_name, "a machine is known");
        Ok(RackMachine { power: Some(power), ..rack.shown(record) })
    }

    /// Forgets a machine; nothing is asked of it.
    ///
    /// # Errors
    ///
    /// 403 for others than administrators, 404 when there is none, 409 while something is asked of it.
    pub async fn remove(&self, caller: &Caller, id: Uuid) -> Result<(), Error> {
        changes(caller)?;
        let rack = &self.0;
        let record = rack.read(id).await?;
        if rack.is_busy(&record) {
            return Err(record.busy().into());
        }
        rack.delete(id).await
    }

    /// Has a machine switched on or off, or restarted.
    ///
    /// # Errors
    ///
    /// 403 for others than administrators, 404 when there is none, 409 while something is asked of it.
    pub async fn switch(&self, caller: &Caller, id: Uuid, power: MachinePower) -> Result<RackMachine, Error> {
        changes(caller)?;
        action::begin(&self.0, caller, id, Task::Power(power)).await
    }

    /// Has a machine start once from the discovery image of an infra-env, as soon as there is one. What ran on it is cut off.
    ///
    /// # Errors
    ///
    /// 403 for others than administrators, 404 when there is no such machine or infra-env, 409 while something is asked of it.
    pub async fn boot(&self, caller: &Caller, id: Uuid, infra_env: InfraEnvId) -> Result<RackMachine, Error> {
        changes(caller)?;
        // Whether there is one, and an image service.
        self.0.infra_envs.get_download_url(caller, infra_env).await?;
        action::begin(&self.0, caller, id, Task::Boot(infra_env)).await
    }
}

/// Reaches the controller of a machine.
async fn connect(record: &Record) -> Result<Machine, RedfishError> {
    Machine::connect(&Access {
        system: record.system.clone(),
        user: record.user.clone(),
        password: record.password.clone(),
        trust: record.trust(),
    })
    .await
}

fn check(params: &MachineCreateParams) -> Result<(), Error> {
    let MachineCreateParams { name, system, user, password, .. } = params;
    if name.trim().is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
        return Err(Refusal::invalid(format!("the name of a machine has 1 to {LONGEST_NAME} letters")).into());
    }
    if [system, user, password.expose()].iter().any(|text| text.len() > LONGEST_TEXT) {
        let text = format!("address, account and password of a machine have at most {LONGEST_TEXT} bytes");
        return Err(Refusal::invalid(text).into());
    }
    Ok(())
}

fn late() -> String {
    format!("the management controller does not answer within {} s", ANSWER.as_secs())
}

/// What a controller says, to who wanted to make it known.
fn unusable(why: &dyn std::fmt::Display) -> Error {
    Refusal::new(RefusalKind::Unprocessable, format!("the management controller can't be used: {why}")).into()
}

fn sees(caller: &Caller) -> Result<(), Error> {
    if caller.is_admin() { Ok(()) } else { Err(not_allowed()) }
}

fn changes(caller: &Caller) -> Result<(), Error> {
    let may = caller.is_admin() && caller.role == Role::Admin && !caller.read_only;
    if may { Ok(()) } else { Err(not_allowed()) }
}

fn not_allowed() -> Error {
    let message = "only admin users are allowed to see and switch machines".to_owned();
    Error::Infra { kind: RefusalKind::Forbidden, message }
}
