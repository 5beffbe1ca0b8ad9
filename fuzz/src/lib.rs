//! Fuzz targets: one for each reader of bytes that come from somebody else.
//!
//! A target is a function that takes any bytes. It must not panic, must not take memory or time beyond what its input's length
//! justifies, and asserts what holds of every input: that what was read and is written again reads the same, that ranges lie
//! inside the file, that a refusal stays one. `cargo xtask fuzz` hunts for inputs that break this, guided by coverage; the
//! inputs in `fuzz/corpus/NAME` are run through it by every run of the tests, without any instrumentation.

mod facts;
mod input;
mod targets;

/// What a target does with an input.
pub type Run = fn(&[u8]);

/// A target by its name, which is also that of its file and of its folder of inputs.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub name: &'static str,
    pub run: Run,
}

/// Declares the targets, each with the function of its file; hands their names to a macro of the tests as well.
macro_rules! targets {
    ($($name:ident)+) => {
        /// Every target, by name.
        pub const TARGETS: &[Target] =
            &[$(Target { name: stringify!($name), run: targets::$name::run },)+];

        /// Calls a macro with the names of all targets.
        #[macro_export]
        macro_rules! for_each_target {
            ($then:ident) => { $then! { $($name)+ } };
        }
    };
}

targets! {
    admission_review
    agent_answer
    api_body
    api_request
    apply
    backup
    ca_bundle
    certificate_request
    cpio
    fields
    frames
    host_texts
    ignition
    image_head
    install_config
    iso
    judging
    kubeconfig
    layer
    machine_config
    manifest
    markers
    mirrors
    multipart
    netlink
    nmstate
    notification
    patch
    pull_secret
    ranges
    redfish
    reference
    registry_documents
    service_answer
    smbios
    step_reply
    tokens
    wire_types
}

/// The target of a name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
