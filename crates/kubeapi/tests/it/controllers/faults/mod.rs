//! What goes wrong between the controllers and their API server: nothing is lost, nothing is tried without a pause, and what stands in the
//! way is told.

mod away;
mod conflicts;
mod order;
mod restored;
mod secrets;
mod start;
