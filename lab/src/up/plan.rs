//! What a lab is asked for.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::ValueEnum;

use super::{Fault, Operator, Rack, Topology};

/// What `assisted-lab up` is asked for.
#[derive(Clone, Debug)]
pub struct Plan {
    pub topology: Topology,
    /// Beside those that the topology has.
    pub workers: u32,
    /// Workers that are added once the cluster is installed.
    pub day2_workers: u32,
    /// Whether the machines of a topology are namespaces of this computer instead of virtual ones.
    pub namespaces: bool,
    /// Real machines, in place of virtual ones of a topology.
    pub rack: Option<Rack>,
    pub static_network: bool,
    pub minimal: bool,
    /// Where everything is kept, and looked at.
    pub dir: PathBuf,
    /// The product's program, `assisted`, with the lab's others beside it.
    pub program: PathBuf,
    /// A folder with the program for hosts, `assisted-host-x86_64`, or `assisted-host` as it was built.
    pub host_programs: PathBuf,
    pub faults: Vec<Fault>,
    /// Operators that are installed with the cluster.
    pub operators: Vec<Operator>,
    /// Image mode: what is built on top of the release's image for nodes. Machines of namespaces alone can do with it.
    pub containerfile: Option<PathBuf>,
    /// End once the cluster has this status.
    pub until: Until,
    /// The longest time from the start until the lab has gone as far as it is to go.
    pub limit: Duration,
    /// Ends everything, from another thread.
    pub stop: Arc<AtomicBool>,
}

/// How far an installation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Until {
    Ready,
    Installing,
    Installed,
}
