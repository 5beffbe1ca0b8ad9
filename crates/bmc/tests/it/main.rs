//! A machine by its management controller, which is an emulator that others wrote (sushy-tools).
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod machine;
mod medium;
