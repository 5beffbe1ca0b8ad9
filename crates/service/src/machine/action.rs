//! What is asked of a machine, behind the answer to who asked for it.

use std::sync::Arc;
use std::time::Duration;

use assisted_base::error::chain;
use assisted_wire::id::InfraEnvId;
use assisted_wire::image_state::ImageReadiness;
use assisted_wire::rack::{MachineAction, MachinePower, RackMachine};
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use super::record::{LIMIT, Record};
use super::{Rack, connect};
use crate::{Caller, Error};

/// How long an image is waited for.
const IMAGE: Duration = Duration::from_secs(25 * 60);
/// Between two questions whether it is there.
const QUESTION: Duration = Duration::from_secs(5);

/// What can be asked of a machine.
#[derive(Clone, Copy, Debug)]
pub(super) enum Task {
    Power(MachinePower),
    Boot(InfraEnvId),
}

impl Task {
    const fn name(self) -> &'static str {
        match self {
            Self::Power(MachinePower::On) => "on",
            Self::Power(MachinePower::Off) => "off",
            Self::Power(MachinePower::Reset) => "reset",
            Self::Boot(_) => "boot",
        }
    }
}

/// A machine of which something is asked; given back when this is dropped, whatever has become of it.
struct Busy {
    rack: Arc<Rack>,
    id: Uuid,
}

impl Busy {
    fn take(rack: &Arc<Rack>, id: Uuid) -> Option<Self> {
        rack.busy.lock().insert(id).then(|| Self { rack: Arc::clone(rack), id })
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.rack.busy.lock().remove(&self.id);
    }
}

/// Begins a task, and goes on with it behind the answer.
pub(super) async fn begin(
    rack: &Arc<Rack>,
    caller: &Caller,
    id: Uuid,
    task: Task,
) -> Result<RackMachine, Error> {
    let mut record = rack.read(id).await?;
    if rack.is_busy(&record) {
        return Err(record.busy().into());
    }
    let Some(busy) = Busy::take(rack, id) else { return Err(record.busy().into()) };
    record.action = Some(MachineAction {
        what: task.name().to_owned(),
        state: "running".to_owned(),
        started_at: rack.database.now().into(),
        ended_at: None,
        message: None,
    });
    rack.write(&record).await?;
    tracing::info!(machine = %id, name = record.name, action = task.name(), user = caller.user_name, "an action on a machine begins");
    let (work, shown, caller) = (Arc::clone(rack), rack.shown(record.clone()), caller.clone());
    tokio::spawn(async move {
        let done = match timeout(LIMIT, work.perform(&caller, &record, task)).await {
            Ok(done) => done,
            Err(_) => Err(format!("it took longer than {} minutes", LIMIT.as_secs() / 60)),
        };
        work.end(id, done).await;
        drop(busy);
    });
    Ok(shown)
}

impl Rack {
    async fn perform(&self, caller: &Caller, record: &Record, task: Task) -> Result<(), String> {
        let image = match task {
            Task::Boot(infra_env) => Some(self.image(caller, record.id, infra_env).await?),
            Task::Power(_) => None,
        };
        let machine = connect(record).await.map_err(|error| chain(&error))?;
        match (task, image) {
            (Task::Boot(_), image) => machine.boot_medium(&image.unwrap_or_default()).await,
            (Task::Power(MachinePower::On), _) => machine.power_on().await,
            (Task::Power(MachinePower::Off), _) => machine.power_off().await,
            (Task::Power(MachinePower::Reset), _) => machine.reset().await,
        }
        .map_err(|error| chain(&error))
    }

    /// Address of the image, once a controller would get it.
    async fn image(&self, caller: &Caller, id: Uuid, infra_env: InfraEnvId) -> Result<String, String> {
        let deadline = Instant::now() + IMAGE;
        let told = |error: Error| error.to_string();
        loop {
            let found = self.infra_envs.get_image_state(caller, infra_env).await.map_err(told)?;
            match found.state {
                ImageReadiness::Failed => return Err(found.message),
                ImageReadiness::Waiting if Instant::now() < deadline => self.waits(id, found.message).await,
                ImageReadiness::Waiting => {
                    return Err(format!("the image is still not there: {}", found.message));
                }
                // Whether it is there is only known where it is.
                ImageReadiness::Ready | ImageReadiness::Unknown => break,
            }
            sleep(QUESTION).await;
        }
        Ok(self.infra_envs.get_download_url(caller, infra_env).await.map_err(told)?.url)
    }

    /// Tells what an action waits for.
    async fn waits(&self, id: Uuid, message: String) {
        self.update_action(id, |action| action.message = Some(message)).await;
    }

    async fn end(&self, id: Uuid, done: Result<(), String>) {
        let ended_at = Some(self.database.now().into());
        self.update_action(id, |action| {
            action.ended_at = ended_at;
            let (state, message) = match done {
                Ok(()) => ("done", None),
                Err(why) => ("failed", Some(why)),
            };
            (action.state, action.message) = (state.to_owned(), message);
        })
        .await;
    }

    /// Changes what is shown of a machine's action. Where that fails, the time of the action tells its end.
    async fn update_action(&self, id: Uuid, change: impl FnOnce(&mut MachineAction)) {
        let noted = async {
            let mut record = self.read(id).await?;
            if let Some(action) = &mut record.action {
                change(action);
                self.write(&record).await?;
            }
            Ok::<_, Error>(())
        };
        if let Err(error) = noted.await {
            tracing::warn!(machine = %id, %error, "the state of a machine can't be kept");
        }
    }
}
