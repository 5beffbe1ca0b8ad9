//! The steps, one file each: arguments in, an [`Outcome`] out.

mod domain_resolution;
mod inventory;
mod ntp_synchronizer;

use std::fmt::Write;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use assisted_hostinfo::Root;
use assisted_wire::id::HostId;
use assisted_wire::step::StepType;
use serde::de::DeserializeOwned;

use crate::dry_run::DryRun;
use crate::instruction::Instruction;
use crate::reply::Outcome;
use crate::task::blocking;

pub use inventory::inventory;

/// Longest text of arguments that an error repeats, in characters.
const SHOWN_ARGS: usize = 1_000;

/// What a host can do: the seam between the protocol and the machine.
pub trait Steps: Send + Sync + 'static {
    /// Who the host is; asked for at each registration, since hardware may have been swapped.
    fn host_id(&self) -> impl Future<Output = HostId> + Send;

    /// Does one step. Limits on time and output are the caller's.
    fn run(&self, instruction: &Instruction) -> impl Future<Output = Outcome> + Send;
}

/// The steps of a machine.
#[derive(Debug)]
pub struct HostSteps {
    root: Arc<Root>,
    dry_run: Option<DryRun>,
    chrony: ntp_synchronizer::Chrony,
    inventory: inventory::Guard,
}

impl HostSteps {
    /// Steps of the machine behind `root`; with `dry_run`, in the disguise of another.
    pub fn new(root: Root, dry_run: Option<DryRun>) -> Self {
        let (chrony, inventory) = Default::default();
        Self { root: Arc::new(root), dry_run, chrony, inventory }
    }

    /// Where chronyd takes commands, if not where its tool expects it.
    pub fn chrony_socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.chrony.socket = Some(path.into());
        self
    }
}

impl Steps for HostSteps {
    async fn host_id(&self) -> HostId {
        if let Some(dry) = &self.dry_run {
            return dry.host_id;
        }
        let root = Arc::clone(&self.root);
        blocking(move || assisted_hostinfo::host_id(&root)).await
    }

    async fn run(&self, instruction: &Instruction) -> Outcome {
        let args = &instruction.args;
        match instruction.step_type.parse() {
            Ok(StepType::Inventory) => {
                inventory::run(args, &self.root, self.dry_run.as_ref(), &self.inventory).await
            }
            Ok(StepType::NtpSynchronizer) => ntp_synchronizer::run(args, &self.chrony).await,
            Ok(StepType::DomainResolution) => domain_resolution::run(args).await,
            // These two are in the list of kinds, but no agent has ever done them.
            Ok(StepType::Execute | StepType::NextStepRunner) | Err(_) => {
                let kind: String = instruction.step_type.chars().take(SHOWN_ARGS).collect();
                Outcome::failed(format!("failed to find action for step type {kind}"))
            }
            Ok(other) => Outcome::failed(format!("step type {other} is not supported by this agent version")),
        }
    }
}

/// Reads the only argument of a step, a JSON text. `name` is what the protocol calls the step in errors.
fn only_arg<T: DeserializeOwned>(name: &str, args: &[String]) -> Result<T, Outcome> {
    let [text] = args else {
        return Err(Outcome::failed(format!(
            "{name} cmd accepts 1 params in args, given args {}",
            shown(args)
        )));
    };
    serde_json::from_str(text).map_err(|error| Outcome::failed(format!("{name}: {error}")))
}

/// Arguments for an error text, cut where they are long.
fn shown(args: &[String]) -> String {
    let mut text = String::from("[");
    let mut left = SHOWN_ARGS;
    for (index, arg) in args.iter().enumerate() {
        let part: String = arg.chars().take(left).collect();
        left -= part.chars().count();
        let _ = write!(text, "{}{part}", if index == 0 { "" } else { " " });
        if left == 0 {
            text.push('…');
            break;
        }
    }
    text.push(']');
    text
}

fn output<T: serde::Serialize>(value: &T) -> Outcome {
    match serde_json::to_string(value) {
        Ok(text) => Outcome::done(text),
        Err(error) => Outcome::failed(format!("the result can't be written: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps() -> HostSteps {
        HostSteps::new(Root::live(), None)
    }

    fn instruction(step_type: &str, args: &[&str]) -> Instruction {
        let args = args.iter().map(ToString::to_string).collect();
        Instruction { step_type: step_type.into(), step_id: "s".into(), args }
    }

    #[tokio::test]
    async fn what_the_agent_cannot_do_is_answered() {
        for (kind, error) in [
            ("Step-not-exists", "failed to find action for step type Step-not-exists"),
            ("", "failed to find action for step type "),
            ("execute", "failed to find action for step type execute"),
            ("install", "step type install is not supported by this agent version"),
        ] {
            let outcome = steps().run(&instruction(kind, &[])).await;
            assert_eq!((outcome.exit_code, outcome.error.as_str()), (-1, error));
        }
    }

    #[tokio::test]
    async fn bad_arguments_are_told() {
        let huge = "x".repeat(5_000_000);
        for (kind, args, error) in [
            (
                "ntp-synchronizer",
                &["a", "b"][..],
                "ntp synchronizer cmd accepts 1 params in args, given args [a b]",
            ),
            ("domain-resolution", &[], "domain resolution cmd accepts 1 params in args, given args []"),
            ("domain-resolution", &["{"], "domain resolution: EOF while parsing"),
            (
                "ntp-synchronizer",
                &[r#"{"ntp_source":"a b"}"#],
                "ntp synchronizer: \"a b\" is neither an address",
            ),
            (
                "ntp-synchronizer",
                &[r#"{"ntp_source":"-x"}"#],
                "ntp synchronizer: \"-x\" is neither an address",
            ),
            (
                "inventory",
                &["no-uuid"],
                "inventory cmd accepts only 1 params in args and it should be UUID, given args [no-uuid]",
            ),
            ("inventory", &[&huge], "inventory cmd accepts only 1 params"),
        ] {
            let outcome = steps().run(&instruction(kind, args)).await;
            assert_eq!(outcome.exit_code, -1);
            assert!(outcome.error.starts_with(error), "{}", outcome.error);
            assert!(outcome.error.len() < 4_000);
        }
    }

    #[tokio::test]
    async fn this_machine_has_an_inventory() {
        let id = HostId::random().to_string();
        let outcome = steps().run(&instruction("inventory", &[&id, "--some-flag=1"])).await;
        assert_eq!(outcome.exit_code, 0, "{}", outcome.error);
        let inventory: assisted_wire::inventory::Inventory = serde_json::from_str(&outcome.output).unwrap();
        assert!(inventory.cpu.unwrap().count > 0);
        assert!(inventory.memory.unwrap().usable_bytes > 0);
    }
}
