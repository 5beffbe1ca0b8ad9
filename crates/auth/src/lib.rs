//! Who asks: [`Caller`], which every use case is told; the tokens of agents ([`token`]), of the agent-based installer
//! ([`installer`]) and of images ([`image_token`]); people, with their sessions and tokens ([`users`]), and those whom
//! an identity provider knows ([`oidc`]); accounts of an external
//! service ([`accounts`]).
//!
//! What a caller may do with which operation is decided where the table of operations is at hand, in the API.

pub mod accounts;
pub mod caller;
mod digest;
mod es256;
mod fetch;
pub mod image_token;
pub mod installer;
pub mod jwks;
mod known;
pub mod limit;
pub mod oidc;
pub mod password;
pub mod person;
pub mod token;
pub mod users;

pub use accounts::{
    Account, AccountError, Accounts, AccountsError, AskError, Capability, Observer, SubscriptionChange,
};
pub use assisted_wire::identity::{PersonRole, TokenResource};
pub use caller::{Caller, Kind};
pub use installer::{InstallerTokenError, InstallerTokens};
pub use token::{Grant, KeyError, Signer, Verifier};
pub use users::{UserError, Users};
