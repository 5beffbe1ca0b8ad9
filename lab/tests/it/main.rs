//! The image under the real tools, and in real machines that discover themselves to a real service.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests too")]

mod accelerator;
mod browser;
mod cleaning;
mod cluster_api;
mod discovery;
mod disk;
mod document;
mod hub;
mod image_mode;
mod namespaces;
mod network;
mod ostree;
mod redfish;
mod service;
mod structure;
mod support;
mod up;
