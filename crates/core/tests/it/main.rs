//! The machines as their caller sees them: facts in, outcomes out, written down, looked at again.

mod history;
mod refresh;
mod registration;
mod replies;
mod steps;
mod update;
mod world;
