//! What is set in the environment and changes nothing: told at start, so that nobody relies on it.

use std::collections::BTreeSet;

use clap::{Command, CommandFactory};

use crate::Program;

/// Logs each variable that is set in vain.
pub(super) fn report() {
    let get = |name: &str| std::env::var(name).ok();
    for (name, why) in assisted_config::without_effect(&get) {
        tracing::warn!("{name} has no effect: {why}");
    }
    for name in of_images_alone() {
        if get(&name).is_some_and(|value| !value.is_empty()) {
            tracing::warn!("{name} has no effect here: it is read by `assisted image-service`");
        }
    }
    let known = known();
    let set = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in set {
        if let Some(meant) = meant(&name, &known) {
            tracing::warn!("{name} has no effect: there is no such variable. Was {meant} meant?");
        }
    }
}

/// Variables that only the image service reads when it runs apart.
fn of_images_alone() -> BTreeSet<String> {
    let program = Program::command();
    let subcommand = |name: &str| program.find_subcommand(name).map(of).unwrap_or_default();
    let (here, mut alone) = (subcommand("serve"), subcommand("image-service"));
    alone.retain(|name| {
        !here.contains(name) && !assisted_config::variables().iter().any(|variable| variable.name == name)
    });
    alone
}

/// Every variable of which something is known.
fn known() -> BTreeSet<String> {
    let settings = assisted_config::variables();
    let mut known = of(&Program::command());
    known.extend(settings.iter().map(|variable| variable.name.to_owned()));
    known.extend(assisted_config::UNREAD.iter().map(|unread| unread.name.to_owned()));
    known
}

/// Variables that the flags of a command are read from, and of its subcommands.
fn of(command: &Command) -> BTreeSet<String> {
    let own = command.get_arguments().filter_map(|argument| argument.get_env()?.to_str().map(str::to_owned));
    own.chain(command.get_subcommands().flat_map(of)).collect()
}

/// The variable that is meant by a name that differs from it by one slip; `None` for names of others.
fn meant<'a>(name: &str, known: &'a BTreeSet<String>) -> Option<&'a str> {
    if known.contains(name) {
        return None;
    }
    let (topic, _) = name.split_once('_')?;
    let near = |other: &&String| other.starts_with(topic) && differs_by_one_slip(name, other);
    known.iter().find(near).map(String::as_str)
}

/// Whether one letter is missing, too many, wrong, or two have changed places.
fn differs_by_one_slip(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let head = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[head..], &other[head..]);
    let tail = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    match (&one[..one.len() - tail], &other[..other.len() - tail]) {
        ([_], []) | ([], [_]) | ([_], [_]) => true,
        ([a, b], [c, d]) => a == d && b == c,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of the variables that the replaced service and its image service read.
    const REPLACED: &str = include_str!("../../tests/data/variables.txt");

    #[test]
    fn every_variable_of_the_replaced_service_is_known() {
        let known = known();
        let names: Vec<_> =
            REPLACED.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        assert!(names.len() > 200, "{}", names.len());
        let strange: Vec<_> = names.iter().filter(|name| !known.contains(**name)).collect();
        assert!(
            strange.is_empty(),
            "they are neither read, nor refused, nor told to have no effect: {strange:?}"
        );
    }

    #[test]
    fn no_variable_is_both_read_and_unread() {
        // The webhooks are a process of their own, which takes what the service refuses.
        let program = Program::command();
        let commands = program.get_subcommands().filter(|command| command.get_name() != "webhook");
        let mut read: BTreeSet<String> = commands.flat_map(of).collect();
        read.extend(assisted_config::variables().iter().map(|variable| variable.name.to_owned()));
        let both: Vec<_> =
            assisted_config::UNREAD.iter().filter(|unread| read.contains(unread.name)).collect();
        assert!(both.is_empty(), "{both:?}");
    }

    #[test]
    fn slips() {
        let known = known();
        for (name, expected) in [
            ("DB_HOSTS", Some("DB_HOST")),
            ("DB_HOTS", Some("DB_HOST")),
            ("ENABLE_SOFT_TIMEOUT", Some("ENABLE_SOFT_TIMEOUTS")),
            ("ASSISTED_LISTEM", Some("ASSISTED_LISTEN")),
            ("DB_HOST", None),
            // Kubernetes sets it beside a service of that name.
            ("ASSISTED_SERVICE_PORT", None),
            ("HOSTNAME", None),
            ("PATH", None),
        ] {
            assert_eq!(meant(name, &known), expected, "{name}");
        }
    }

    #[test]
    fn what_the_image_service_alone_reads() {
        let alone = of_images_alone();
        assert!(
            alone.contains("MAX_CONCURRENT_REQUESTS") && alone.contains("ASSISTED_SERVICE_HOST"),
            "{alone:?}"
        );
        assert!(!alone.contains("OS_IMAGES") && !alone.contains("INSECURE_SKIP_VERIFY"), "{alone:?}");
    }
}
