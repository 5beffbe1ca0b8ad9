//! `assisted machine …`: machines of a rack, by their management controllers (Redfish). Nothing of this goes by way of the
//! service: controllers stand on a network of their own, which the service need not reach.

mod boot;
mod rack;

use std::collections::BTreeMap;

use assisted_base::http::{Trust, authorities_of_file};
use assisted_bmc::{Access, Machine};
use assisted_console::Failure;
use assisted_console::output::{line, show, table};
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use tokio::task::JoinSet;

use super::common::Context;
use super::login::password;
use super::progress;
use rack::{Known, Rack};

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Make a machine known, by the address and the account of its management controller
    ///
    /// The password is asked for without being shown; where something is piped in, its first line is taken. It is kept in a file that
    /// only you can read. The controller is asked before: it has to have a drive for virtual media.
    Add(Add),
    /// List machines, and whether each is switched on
    List,
    /// Switch machines on or off, or reset them
    Power {
        /// What to do
        #[arg(value_enum)]
        action: PowerAction,
        #[command(flatten)]
        machines: Names,
    },
    /// Boot machines from a discovery image, once: by virtual media; what runs on them is cut off
    Boot(boot::Boot),
    /// Take the medium out of the virtual drives of machines
    Eject {
        #[command(flatten)]
        machines: Names,
    },
    /// Forget machines, and their passwords
    Remove {
        /// Names
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
}

#[derive(Args, Debug)]
pub struct Add {
    /// Name, as you call the machine
    name: String,
    /// Address of the machine at its controller, such as https://192.0.2.1/redfish/v1/Systems/1
    #[arg(long, value_name = "URL")]
    system: String,
    /// Name of the account
    #[arg(long)]
    user: String,
    /// Take any certificate of the controller: most sign their own. Without this, the system's authorities and --ca-file count
    #[arg(long)]
    insecure: bool,
}

/// Which machines.
#[derive(Args, Debug)]
pub struct Names {
    /// Names
    #[arg(value_name = "NAME", required_unless_present = "all")]
    names: Vec<String>,
    /// All machines that are known
    #[arg(long, conflicts_with = "names")]
    all: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PowerAction {
    On,
    /// Without asking what runs
    Off,
    /// Press the reset button
    Reset,
}

/// A machine, as it is shown. Its password is not.
#[derive(Serialize)]
struct Row {
    name: String,
    system: String,
    user: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    power: Option<String>,
    /// Why the controller does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl Command {
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Add(add) => add.run(context).await,
            Self::List => {
                let rows = list(context).await?;
                show(context.format, &rows, |rows| overview(rows))
            }
            Self::Power { action, machines } => {
                let known = machines.of(&Rack::of_user()?)?;
                each(context, known, move |machine| async move {
                    match action {
                        PowerAction::On => machine.power_on().await.map(|()| "on".to_owned()),
                        PowerAction::Off => machine.power_off().await.map(|()| "off".to_owned()),
                        PowerAction::Reset => machine.reset().await.map(|()| "reset".to_owned()),
                    }
                    .map_err(Failure::refused)
                })
                .await
            }
            Self::Boot(boot) => boot.run(context).await,
            Self::Eject { machines } => {
                let known = machines.of(&Rack::of_user()?)?;
                each(context, known, |machine| async move {
                    machine.eject_medium().await.map_err(Failure::refused)?;
                    Ok("its virtual drive is empty".to_owned())
                })
                .await
            }
            Self::Remove { names } => {
                let mut rack = Rack::of_user()?;
                for name in names {
                    rack.remove(&name)?;
                    line(&format!("forgot {name}"))?;
                }
                Ok(())
            }
        }
    }
}

impl Add {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let mut rack = Rack::of_user()?;
        let known = Known {
            system: self.system,
            user: self.user,
            password: password("Password")?,
            insecure: self.insecure,
        };
        let machine = connect(context, &known).await?;
        let power = machine.power().await.map_err(Failure::refused)?;
        rack.add(&self.name, known)?;
        line(&format!("{} is known; it is {power}", self.name))
    }
}

impl Names {
    /// What is known of them; a refusal names the first that is not.
    fn of(&self, rack: &Rack) -> Result<BTreeMap<String, Known>, Failure> {
        if self.all {
            let all = rack.all().clone();
            return match all.is_empty() {
                true => Err(Failure::Refused(
                    "no machine is known; `assisted machine add` makes one known".into(),
                )),
                false => Ok(all),
            };
        }
        self.names.iter().map(|name| Ok((name.clone(), rack.get(name)?.clone()))).collect()
    }
}

/// Reaches the controller of a machine.
async fn connect(context: &Context, known: &Known) -> Result<Machine, Failure> {
    let trust = match &context.ca_file {
        _ if known.insecure => Trust::Any,
        Some(path) => Trust::Also(authorities_of_file(path).map_err(Failure::refused)?),
        None => Trust::System,
    };
    let access = Access {
        system: known.system.clone(),
        user: known.user.clone(),
        password: known.password.clone(),
        trust,
    };
    Machine::connect(&access).await.map_err(Failure::refused)
}

/// Does the same to several machines at once, and tells of each; a failure of one does not keep the others.
async fn each<F>(
    context: &Context,
    known: BTreeMap<String, Known>,
    act: impl Fn(Machine) -> F + Clone + Send + Sync + 'static,
) -> Result<(), Failure>
where
    F: Future<Output = Result<String, Failure>> + Send + 'static,
{
    let mut running = JoinSet::new();
    for (name, known) in known {
        let (context, act) = (context.clone(), act.clone());
        running.spawn(async move {
            let done = async { act(connect(&context, &known).await?).await };
            (name, done.await)
        });
    }
    let (mut failed, mut count) = (Vec::new(), 0_usize);
    let bar = progress::waiting();
    loop {
        bar.set_message(format!("{} machines are at it", running.len()));
        let Some(ended) = running.join_next().await else { break };
        count += 1;
        match ended {
            Ok((name, Ok(told))) => bar.suspend(|| line(&format!("{name}: {told}")))?,
            Ok((name, Err(failure))) => failed.push(format!("{name}: {failure}")),
            Err(error) => failed.push(error.to_string()),
        }
    }
    bar.finish_and_clear();
    failed.sort();
    match failed.as_slice() {
        [] => Ok(()),
        [one] if count == 1 => Err(Failure::Refused(one.clone())),
        several => Err(Failure::Refused(format!(
            "{} of {count} machines failed\n  {}",
            several.len(),
            several.join("\n  ")
        ))),
    }
}

async fn list(context: &Context) -> Result<Vec<Row>, Failure> {
    let mut asked = JoinSet::new();
    for (name, known) in Rack::of_user()?.all().clone() {
        let context = context.clone();
        asked.spawn(async move {
            let power = match connect(&context, &known).await {
                Ok(machine) => machine.power().await.map_err(Failure::refused),
                Err(failure) => Err(failure),
            };
            let (power, problem) = match power {
                Ok(power) => (Some(power.to_string()), None),
                Err(failure) => (None, Some(failure.to_string())),
            };
            Row { name, system: known.system, user: known.user, power, problem }
        });
    }
    let mut rows = asked.join_all().await;
    rows.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(rows)
}

fn overview(rows: &[Row]) -> String {
    table(
        ["NAME", "POWER", "ADDRESS", "ACCOUNT"],
        rows.iter().map(|row| {
            let power = row.power.clone().or_else(|| row.problem.clone()).unwrap_or_default();
            [row.name.clone(), power, row.system.clone(), row.user.clone()]
        }),
    )
}
