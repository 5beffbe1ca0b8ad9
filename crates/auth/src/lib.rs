//! Who asks: [`Caller`], which every use case is told; the tokens of agents ([`token`]); people, with their sessions and tokens
//! ([`users`]).
//!
//! What a caller may do with which operation is decided where the table of operations is at hand, in the API.

pub mod caller;
mod digest;
pub mod limit;
pub mod password;
pub mod person;
pub mod token;
pub mod users;

pub use assisted_wire::identity::{PersonRole, TokenResource};
pub use caller::{Caller, Kind};
pub use token::{Grant, KeyError, Signer, Verifier};
pub use users::{UserError, Users};
