//! Validations: every reason why a host or a cluster can or can't be installed.
//!
//! A validation is a pure function that returns an [`Outcome`](crate::model::outcome::Outcome): status and message as the API shows them, and the facts
//! behind them (what was measured, what is required, what to do). [`host::evaluate`] and [`cluster::evaluate`] run all
//! of them in the fixed order and apply the rules on ignoring, disabling and leaving out; the state machines then ask
//! [`Results::condition`].

pub mod assessment;
pub mod cluster;
#[cfg(test)]
mod coverage;
mod diff;
pub mod host;
mod ids;
mod operator;
mod passed_hosts;
mod results;
mod scope;
pub mod settings;
#[cfg(test)]
pub(crate) mod testing;

pub use diff::{Change, ChangeKind, broken_since, diff, failing};
pub use ids::{Category, ValidationId};
pub use passed_hosts::PassedHosts;
pub use results::{Entry, Results};
pub use scope::Scope;
