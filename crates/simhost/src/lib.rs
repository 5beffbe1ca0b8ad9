//! Hosts that behave like real ones on the wire: load, faults and whole installations without machines.
//!
//! A simulation ([`simulation`]) is made of state machines that do no I/O: [`machine`] is a host with its agent, whose
//! answers come from [`step`], and its installer ([`installer`]); [`kube`] is the OpenShift cluster that forms,
//! [`controller`] the program in it that finishes the installation, [`user`] the user who wants it. [`drive`] runs them
//! against a real service over a few connections. What they are like is told by [`plan`], [`topology`], [`network`],
//! [`fault`], [`world`] and [`inventory`].
//!
//! [`host`] with [`connection`], [`load`] and [`polls`] alone make load for measurements.

pub mod action;
pub mod connection;
pub mod controller;
pub mod drive;
pub mod fault;
pub mod growth;
pub mod host;
pub mod installer;
pub mod inventory;
pub mod kube;
pub mod load;
pub mod logs;
pub mod machine;
pub mod network;
pub mod plan;
pub mod polls;
pub mod random;
pub mod simulation;
pub mod step;
pub mod tls;
pub mod topology;
pub mod user;
pub mod world;
