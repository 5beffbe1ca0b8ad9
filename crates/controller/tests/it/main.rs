//! The controller between a real Kubernetes API and a real service, with hosts that behave like real ones.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests too")]

mod badly;
mod ends;
mod image_mode;
mod images;
mod installation;
mod kinds;
mod kubelet;
mod olm;
mod operators;
mod requests;
mod service;
mod setup;
mod well;
mod world;
