//! The installation disk: freed of whatever holds it, then written.

mod clean;
mod progress;
mod write;

pub use clean::{CleanError, clean};
pub use progress::{Percent, Progress};
pub use write::{WriteError, write};
