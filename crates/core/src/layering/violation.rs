//! The rules of image mode by their names, and a violation of one.

use std::fmt;

macro_rules! rules {
    ($($(#[$doc:meta])+ $name:ident,)+) => {
        /// A rule of ocl-day1 §B3.2, under its number there.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Rule { $($(#[$doc])+ $name,)+ }

        impl Rule {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The number, as people are told.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)+ }
            }
        }
    };
}

rules! {
    /// A MachineOSConfig is of version v1 and has known fields only.
    V01,
    /// Its name is that of its pool.
    V02,
    /// Its pool is master or worker.
    V03,
    /// There is at most one for each pool.
    V04,
    /// Images are built by a Job.
    V05,
    /// Images are pushed to a name that MachineOSConfigs and their statuses can hold.
    V06,
    /// Containerfiles are few, short, and at most one counts.
    V07,
    /// The Containerfile can be built, on top of stage `configs`.
    V08,
    /// Each pool with hosts has one.
    V09,
    /// The secrets that it names are there and open the registry.
    V10,
    /// It has no annotation that tells of an image which is there already.
    V11,
    /// Release and architecture know image mode.
    V12,
    /// All hosts of a pool have the architecture of the host that builds.
    V13,
    /// No MachineConfig of the user replaces what the image brings.
    V14,
    /// No other object of the user decides on the image or its runtime.
    V15,
    /// The disk can be written to before its first start.
    V16,
    /// There is room for building and for the replica of the registry.
    V17,
    /// Nodes reach the embedded registry.
    V18,
    /// The external registry answers.
    V19,
    /// Each node's image can be deployed before its first start.
    V20,
    /// References hold names, never addresses.
    V21,
    /// What is handed to the builder is not too large.
    V22,
    /// The embedded registry is not for FIPS.
    V23,
    /// Nothing keeps nodes from trusting the image: a warning.
    V24,
    /// Workers can't switch to an image of the embedded registry.
    V25,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A rule that an object or a host violates, with what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    pub rule: Rule,
    /// What is wrong; it names the object, and holds no secret.
    pub text: String,
    /// What to do.
    pub remedy: &'static str,
}

impl Violation {
    pub(crate) fn new(rule: Rule, text: impl Into<String>, remedy: &'static str) -> Self {
        Self { rule, text: text.into(), remedy }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}). {}", self.text, self.rule, self.remedy)
    }
}
