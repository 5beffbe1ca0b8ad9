//! What is set in the environment and changes nothing: told at start, so that nobody relies on it.

use std::collections::BTreeSet;

use assisted_config::Fate;
use clap::{Command, CommandFactory};

use crate::Program;

/// Logs the variables that are set in vain, once, in one table.
pub(super) fn report() {
    let get = |name: &str| std::env::var(name).ok();
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let told = in_vain(&get, names);
    if !told.is_empty() {
        tracing::warn!(
            "of the variables that are set, {} change nothing:\n  {}",
            told.len(),
            told.join("\n  ")
        );
    }
}

/// A line for each variable that is set in vain.
fn in_vain(get: &dyn Fn(&str) -> Option<String>, names: impl Iterator<Item = String>) -> Vec<String> {
    let mut told: Vec<_> = assisted_config::without_effect(get)
        .into_iter()
        .map(|(name, why)| format!("{name} has no effect: {why}"))
        .collect();
    let images =
        of_images_alone().into_iter().filter(|name| get(name).is_some_and(|value| !value.is_empty()));
    told.extend(
        images.map(|name| format!("{name} has no effect here: it is read by `assisted image-service`")),
    );
    let known = known();
    told.extend(names.filter_map(|name| {
        let meant = meant(&name, &known)?;
        Some(format!("{name} has no effect: there is no such variable. Was {meant} meant?"))
    }));
    told
}

/// Names of the variables that the replaced service and its image service read.
const REPLACED: &str = include_str!("../../tests/data/variables.txt");

fn replaced() -> impl Iterator<Item = &'static str> {
    REPLACED.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The page about the variables of the replaced service: what becomes of each here.
pub(crate) fn page() -> String {
    let settings = assisted_config::variables();
    let program = Program::command();
    let readers = |name: &str| {
        let reads = |command: &&Command| !command.is_hide_set() && of(command).contains(name);
        let commands = program.get_subcommands().filter(reads);
        commands.map(|command| format!("`assisted {}`", command.get_name())).collect::<Vec<_>>()
    };
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    let (mut rows, mut counts) = (String::new(), [0_usize; 3]);
    for name in replaced() {
        let unread = assisted_config::UNREAD.iter().find(|unread| unread.name == name);
        let variable = settings.iter().find(|variable| variable.name == name);
        let (effect, remark) = match (unread.map(|unread| unread.fate), variable) {
            (Some(Fate::Refused { harmless, why }), _) => {
                let taken = harmless.first().map(|value| format!("; `{value}` is taken")).unwrap_or_default();
                (1, format!("{why}{taken}"))
            }
            (Some(Fate::NoEffect { why }), _) => (2, why.to_owned()),
            (None, Some(variable)) => (0, variable.meaning.to_owned()),
            (None, None) => (0, format!("Read by {}.", readers(name).join(", "))),
        };
        counts[effect] += 1;
        let effect = ["works", "refused", "harmless"][effect];
        rows.push_str(&format!("| `{name}` | {effect} | {} |\n", cell(&remark)));
    }
    let [works, refused, harmless] = counts;
    format!(
        "{HEAD}\nOf {} variables {works} work, {harmless} are harmless and {refused} are refused.\n\n| variable | here | what it does, or why it does nothing |\n|---|---|---|\n{}",
        works + refused + harmless,
        rows.trim_end()
    )
}

const HEAD: &str = "# The environment of the replaced service

Made from the code by `cargo xtask docs`. `assisted serve` and `assisted image-service` start with the environment of the service that this one replaces: each
variable that it reads works here with the same meaning, is harmless, which is told once at start, or asks for what this version can't do, and stops the
start with a sentence, unless its value asks for nothing. `assisted config explain` says the same of the environment that it is given.

| what else is alike | |
|---|---|
| ports | 8090 for the API (`--port`), `HTTP_LISTEN_PORT` for plain HTTP, `LISTEN_PORT` for the image service |
| TLS | where `HTTPS_KEY_FILE` and `HTTPS_CERT_FILE` are set |
| the database | `DB_HOST` and its kin: PostgreSQL, several hosts with a failover ([PostgreSQL](postgresql.md)); the data of the replaced service are [imported](import.md) into a database of their own |
| files | `STORAGE`, `S3_*`, `AWS_*`, `WORK_DIR` ([files](storage.md)) |
| DNS | `BASE_DNS_DOMAINS`, `AWS_SHARED_CREDENTIALS_FILE` ([DNS](dns.md)) |

| what differs | |
|---|---|
| the address | only this machine is listened to, unless `--listen` (`ASSISTED_LISTEN`) says otherwise; beyond it with `AUTH_TYPE=none` only with `--allow-unauthenticated` (`ASSISTED_ALLOW_UNAUTHENTICATED=true`). A `SERVICE_BASE_URL` that leads elsewhere is warned of at start |
| the image service | `assisted serve` brings its own where `IMAGE_SERVICE_BASE_URL` is not set |
| open connections | 8 where `DB_MAX_OPEN_CONNECTIONS` is not set, not 90: more do no more work |
| files | a folder where neither `STORAGE` nor `S3_BUCKET` is set, not S3; the folder is in the user's data folder where `WORK_DIR` is not set, not `/data/` |
| data collection | off where `ENABLE_DATA_COLLECTION` is not set: nothing is sent to anybody unless somebody says so |
| the end of an installation | waits for the cluster's own version to settle where `CHECK_CLUSTER_VERSION` is not set |
| images of the agent, the installer and the controller | this version's own where `AGENT_DOCKER_IMAGE`, `INSTALLER_IMAGE` and `CONTROLLER_IMAGE` are not set |
| OS images and releases | a built-in list where `OS_IMAGES`, `RELEASE_IMAGES` and `RELEASE_SOURCES` are not set |
| images of must-gather | a built-in list where `MUST_GATHER_IMAGES` is not set, not that of the release alone |
| requirements of hardware | a built-in table where `HW_VALIDATOR_REQUIREMENTS` is not set, not none |
";

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

    /// Where the whole reference is on the machines that this is written on; docs/reference holds what is cited of it.
    const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/reference");

    /// The sections of the reference that name what the replaced service and its image service read.
    const SECTIONS: [(&str, &str); 3] = [
        ("service-api.md", "## 15. Configuration"),
        ("image-service.md", "### 1.2 Environment variables"),
        ("running.md", "## 6. Managed DNS"),
    ];

    /// Values that stand there like names.
    const VALUES: [&str; 3] = ["PLAIN", "CREATE", "DELETE"];

    /// The lines of a section, with those of the sections below it.
    fn section<'a>(document: &'a str, title: &'a str) -> impl Iterator<Item = &'a str> {
        let level = title.bytes().take_while(|byte| *byte == b'#').count();
        let is_within = move |line: &&str| {
            let marks = line.bytes().take_while(|byte| *byte == b'#').count();
            marks == 0 || marks > level
        };
        document.lines().skip_while(move |line| *line != title).skip(1).take_while(is_within)
    }

    fn is_name(text: &str) -> bool {
        let of_names = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        text.len() > 3
            && text.starts_with(|first: char| first.is_ascii_uppercase())
            && text.bytes().all(of_names)
            && !VALUES.contains(&text)
    }

    #[test]
    fn the_list_is_that_of_the_reference() {
        let folder = std::path::Path::new(REFERENCE);
        if !folder.is_dir() {
            return assisted_testkit::skip("the whole reference is not here");
        }
        // Names, and the beginning and the end of several.
        let (mut names, mut several) = (BTreeSet::new(), Vec::new());
        for (document, title) in SECTIONS {
            let document = std::fs::read_to_string(folder.join(document)).unwrap();
            // The client of the agent-based installer is a program of its own.
            let lines = section(&document, title).filter(|line| !line.starts_with("Agent-installer client"));
            for code in lines.flat_map(|line| line.split('`').skip(1).step_by(2)) {
                let name = code.split('=').next().unwrap();
                if let Some((begin, end)) = name.split_once("<STAGE>") {
                    several.push((begin.to_owned(), end.to_owned()));
                } else if let Some(end) = name.strip_prefix("...").filter(|end| end.starts_with('_')) {
                    several.push((String::new(), end.to_owned()));
                } else if is_name(name) {
                    names.insert(name.to_owned());
                } else if name.starts_with("Osc_") {
                    // Its library asks the environment in capitals, however a name is written there.
                    names.insert(name.to_uppercase());
                }
            }
        }
        assert!(names.len() > 200 && several.len() == 3, "{names:?} {several:?}");
        let listed: BTreeSet<String> = replaced().map(str::to_owned).collect();
        let missing: Vec<_> = names.difference(&listed).collect();
        assert!(missing.is_empty(), "the reference names them, variables.txt does not: {missing:?}");
        let is_one_of_several = |name: &str| {
            several
                .iter()
                .any(|(begin, end)| name.starts_with(begin.as_str()) && name.ends_with(end.as_str()))
        };
        let made_up: Vec<_> = listed.difference(&names).filter(|name| !is_one_of_several(name)).collect();
        assert!(made_up.is_empty(), "variables.txt names them, the reference does not: {made_up:?}");
    }

    #[test]
    fn every_variable_of_the_replaced_service_is_known() {
        let known = known();
        let names: Vec<_> = replaced().collect();
        assert!(names.len() > 200, "{}", names.len());
        let strange: Vec<_> = names.iter().filter(|name| !known.contains(**name)).collect();
        assert!(
            strange.is_empty(),
            "they are neither read, nor refused, nor told to have no effect: {strange:?}"
        );
    }

    #[test]
    fn the_page_has_a_row_for_each_variable() {
        let page = page();
        for name in replaced() {
            let rows = page.lines().filter(|line| line.starts_with(&format!("| `{name}` |"))).count();
            assert_eq!(rows, 1, "{name}");
        }
        assert!(!page.contains("Read by ."), "{page}");
        let row = |name: &str| page.lines().find(|line| line.starts_with(&format!("| `{name}`"))).unwrap();
        assert!(
            row("BASE_DNS_DOMAINS").contains("| works |") && row("DUMMY_IGNITION").contains("| refused |")
        );
        assert!(row("DEPLOY_TARGET").contains("| harmless |"));
        assert!(row("ASSISTED_SERVICE_HOST").contains("Read by `assisted image-service`"));
    }

    #[test]
    fn what_the_page_says_of_defaults_is_so() {
        let page = page();
        let (_, differs) = page.split_once("| what differs | |").unwrap();
        let (differs, _) = differs.split_once("\n\n").unwrap();
        let settings = assisted_config::variables();
        for (name, default) in [
            ("DB_MAX_OPEN_CONNECTIONS", "8"),
            ("ENABLE_DATA_COLLECTION", "false"),
            ("CHECK_CLUSTER_VERSION", "true"),
            ("STORAGE", ""),
            ("S3_BUCKET", ""),
            ("WORK_DIR", ""),
            ("IMAGE_SERVICE_BASE_URL", ""),
            ("OS_IMAGES", "built in"),
            ("RELEASE_IMAGES", "built in"),
            ("RELEASE_SOURCES", "built in"),
        ] {
            assert!(differs.contains(&format!("`{name}`")), "{name} is not in {differs}");
            let variable = settings.iter().find(|variable| variable.name == name).unwrap();
            assert_eq!(variable.default, default, "{name}");
        }
        assert!(differs.contains("| 8 where `DB_MAX_OPEN_CONNECTIONS`"), "{differs}");
        let program = Program::command();
        let serve = program.find_subcommand("serve").unwrap();
        let listen = serve.get_arguments().find(|argument| argument.get_id() == "listen").unwrap();
        assert_eq!(listen.get_default_values(), ["127.0.0.1:8090"]);
    }

    #[test]
    fn what_is_in_vain_is_told_in_lines() {
        let get =
            |name: &str| ["DEPLOY_TARGET", "ASSISTED_SERVICE_HOST"].contains(&name).then(|| "x".to_owned());
        let told = in_vain(&get, ["DB_HOTS".to_owned(), "PATH".to_owned()].into_iter());
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[2].starts_with("DB_HOTS has no effect") && told[2].contains("DB_HOST"), "{told:?}");
    }

    #[test]
    fn no_variable_is_both_read_and_unread() {
        // The webhooks and the Cluster API providers are processes of their own, which take what the service refuses.
        let program = Program::command();
        let others = ["webhook", "capi"];
        let commands = program.get_subcommands().filter(|command| !others.contains(&command.get_name()));
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
