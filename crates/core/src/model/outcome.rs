//! The outcome of one validation.

use std::borrow::Cow;

pub use assisted_wire::validation::ValidationStatus as Status;

/// Text that is mostly fixed.
pub type Text = Cow<'static, str>;

/// The facts behind an outcome, for people; each is `None` where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// What the machine or the cluster has.
    pub measured: Option<Text>,
    /// What is needed.
    pub required: Option<Text>,
    /// What to do about it.
    pub remedy: Option<Text>,
}

/// What a validation found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub status: Status,
    /// Text for people, as the API shows it.
    pub message: Text,
    /// The facts behind it.
    pub facts: Explanation,
    /// A success that is not worth showing: the condition holds, the API does not show it.
    pub suppressed: bool,
}

impl Outcome {
    fn new(status: Status, message: impl Into<Text>) -> Self {
        Self { status, message: message.into(), facts: Explanation::default(), suppressed: false }
    }

    /// The validation holds.
    pub fn success(message: impl Into<Text>) -> Self {
        Self::new(Status::Success, message)
    }

    /// The validation does not hold.
    pub fn failure(message: impl Into<Text>) -> Self {
        Self::new(Status::Failure, message)
    }

    /// Too little is known yet.
    pub fn pending(message: impl Into<Text>) -> Self {
        Self::new(Status::Pending, message)
    }

    /// Too little is known yet: a host has not reported its inventory.
    pub fn awaits_inventory(message: impl Into<Text>) -> Self {
        Self::pending(message).measured("no inventory").required("an inventory").remedy(
            "Wait: a host sends its inventory within a minute after it registered. If it does not, see the agent's log \
             on the host.",
        )
    }

    /// Too little is known yet: a host has not answered a question that is put to it without further ado.
    pub fn awaits_report(message: impl Into<Text>) -> Self {
        Self::pending(message)
            .measured("no report")
            .required("a report")
            .remedy("Wait: the host is asked, and answers within a few minutes.")
    }

    /// The validation can't be evaluated: what is known makes no sense.
    pub fn error(message: impl Into<Text>) -> Self {
        Self::new(Status::Error, message)
    }

    /// Switched off by the service's settings.
    pub fn disabled() -> Self {
        Self::new(Status::Disabled, "Validation disabled by configuration")
    }

    /// The validation does not apply here: it holds, and is not shown.
    pub fn suppressed() -> Self {
        Self { suppressed: true, ..Self::new(Status::Success, "") }
    }

    /// Whether the condition of the validation holds.
    pub const fn holds(&self) -> bool {
        matches!(self.status, Status::Success | Status::Disabled)
    }

    /// With what was measured.
    pub fn measured(mut self, text: impl Into<Text>) -> Self {
        self.facts.measured = Some(text.into());
        self
    }

    /// With what is required.
    pub fn required(mut self, text: impl Into<Text>) -> Self {
        self.facts.required = Some(text.into());
        self
    }

    /// With what to do.
    pub fn remedy(mut self, text: impl Into<Text>) -> Self {
        self.facts.remedy = Some(text.into());
        self
    }
}
