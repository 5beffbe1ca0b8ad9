//! Whole lab clusters without virtual machines: each machine is a network namespace on a bridge and a root folder of its
//! own, in which the real programs run, with real etcd and Kubernetes.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "helpers of tests are tests too")]

mod clusters;
mod machine;
mod site;
