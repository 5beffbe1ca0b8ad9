//! What the programs of people and scripts share, `assisted` and `assisted-lab`: where the service is, failures with their exit
//! codes, how answers are shown, and the description of a command line.

pub mod colour;
mod failure;
mod file;
mod global;
pub mod output;
mod printable;
pub mod reference;
pub mod screen;

pub use failure::Failure;
pub use file::file;
pub use global::Global;
pub use output::Format;
