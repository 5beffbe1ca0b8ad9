//! Prints a document that is made from the domain: `docs machines`, `docs operators`. Used by `cargo xtask docs`.

use std::fmt::Write;
use std::io::{self, Write as _};
use std::process::ExitCode;

use assisted_core::catalogue::feature::{Target, level};
use assisted_core::catalogue::operators::{Operator, by_name};
use assisted_core::decide::refresh;
use assisted_core::policy::Operators;
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::operator_assessment::{OperatorDescription, OperatorLevel};
use assisted_wire::platform::PlatformType;
use assisted_wire::requirements::HostTypeHardwareRequirements;
use assisted_wire::support_level::SupportLevel;

fn main() -> ExitCode {
    let text = match std::env::args().nth(1).as_deref() {
        Some("machines") => machines(),
        Some("operators") => operators(),
        other => {
            let _ = writeln!(io::stderr(), "unknown document {other:?}: machines, operators");
            return ExitCode::from(2);
        }
    };
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn machines() -> String {
    let mut text = "# State machines\n\nMade from the code by `cargo xtask docs`. In each table the first rule wins whose state and condition hold.\n".to_owned();
    for table in refresh::tables() {
        let (diagram, rules) = (table.to_mermaid(), table.to_markdown());
        let _ = write!(
            text,
            "\n## {}\n\n```mermaid\n{}\n```\n\n{}\n",
            table.title,
            diagram.trim_end(),
            rules.trim_end()
        );
    }
    text
}

/// The versions that the table of support looks at, by their minors: from the oldest that a rule knows to one that is newer than
/// all.
const MINORS: std::ops::RangeInclusive<u64> = 6..=30;

/// Columns of architectures and of platforms; an external platform by its name.
const ARCHITECTURES: [CpuArchitecture; 5] = [
    CpuArchitecture::X8664,
    CpuArchitecture::Arm64,
    CpuArchitecture::S390x,
    CpuArchitecture::Ppc64le,
    CpuArchitecture::Multi,
];
const PLATFORMS: [(PlatformType, &str, &str); 6] = [
    (PlatformType::Baremetal, "", "bare metal"),
    (PlatformType::None, "", "none"),
    (PlatformType::Nutanix, "", "Nutanix"),
    (PlatformType::Vsphere, "", "vSphere"),
    (PlatformType::External, "", "external"),
    (PlatformType::External, "oci", "OCI"),
];

const OPERATORS: &str = "# Operators

Made from the code by `cargo xtask docs`. `assisted operator list` and `assisted operator show NAME` tell the same of a running service; with `--cluster` they
tell what an operator would add to each of a cluster's hosts, and which hosts fail and why (`GET /v2/operators`, `GET /v2/clusters/{cluster_id}/operators`). What
is made for each operator stands in [the reference](reference/operators.md), where ours is meant to differ in [a record](adr/0015-one-operator-is-one-file.md), and
[which test holds what](operator-tests.md).

## Support

From which version of OpenShift on each can be had, by architecture; and on which platforms, on x86_64. `-`: on none.

";

fn operators() -> String {
    let mut text = OPERATORS.to_owned();
    let names = ARCHITECTURES.map(|architecture| architecture.to_string());
    let platforms = PLATFORMS.map(|(.., name)| name.to_owned());
    let heading =
        [vec!["operator".to_owned(), "level".to_owned()], names.to_vec(), platforms.to_vec()].concat();
    row(&mut text, &heading);
    row(&mut text, &vec!["---".to_owned(); heading.len()]);
    let all: Vec<_> =
        by_name().into_iter().map(|each| (each, each.description("4.30", &Operators::default()))).collect();
    for (operator, description) in &all {
        let mut cells = vec![format!("`{}`", description.name), levels(&description.levels)];
        cells.extend(ARCHITECTURES.map(|architecture| since(operator, architecture)));
        cells.extend(PLATFORMS.map(|(platform, name, _)| has_platform(operator, platform, name)));
        row(&mut text, &cells);
    }
    text += "\n## What each needs\n\nOf each host of a cluster of several nodes of the newest version, besides what OpenShift itself takes.\n\n";
    row(
        &mut text,
        &["operator", "needs", "bundles", "not with", "of a master", "of a worker"].map(str::to_owned),
    );
    row(&mut text, &["---"; 6].map(str::to_owned));
    for (_, description) in &all {
        row(&mut text, &needs(description));
    }
    text
}

fn row(text: &mut String, cells: &[String]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<_> = items.into_iter().collect();
    if items.is_empty() { "-".to_owned() } else { items.join(", ") }
}

fn levels(all: &[OperatorLevel]) -> String {
    list(all.iter().map(|each| match each.from_version.as_str() {
        "" => each.support_level.to_string(),
        version => format!("{} from {version}", each.support_level),
    }))
}

fn is_available(operator: &Operator, target: &Target<'_>) -> bool {
    level(operator.feature(), target).level != SupportLevel::Unavailable
}

fn since(operator: &Operator, architecture: CpuArchitecture) -> String {
    let found = MINORS
        .into_iter()
        .find(|minor| is_available(operator, &Target::new(&format!("4.{minor}"), architecture)));
    match found {
        Some(minor) if minor == *MINORS.start() => "any".to_owned(),
        Some(minor) => format!("4.{minor}"),
        None => "-".to_owned(),
    }
}

fn has_platform(operator: &Operator, platform: PlatformType, name: &str) -> String {
    let newest = format!("4.{}", MINORS.end());
    let target = Target {
        platform: Some(platform),
        external_platform: name,
        ..Target::new(&newest, CpuArchitecture::X8664)
    };
    if is_available(operator, &target) { "yes".to_owned() } else { "-".to_owned() }
}

fn needs(description: &OperatorDescription) -> [String; 6] {
    let of_single =
        description.single_node_dependencies.iter().map(|name| format!("`{name}` on a single node"));
    let role = |role: Option<&HostTypeHardwareRequirements>| {
        let numbers = role
            .and_then(|role| role.quantitative.as_ref())
            .filter(|numbers| numbers.cpu_cores > 0 || numbers.ram_mib > 0);
        let numbers = numbers.map(|numbers| format!("{} cores, {} MiB", numbers.cpu_cores, numbers.ram_mib));
        let words = role.and_then(|role| role.qualitative.clone()).unwrap_or_default();
        let told: Vec<_> = numbers.into_iter().chain(words).collect();
        if told.is_empty() { "-".to_owned() } else { told.join("; ") }
    };
    [
        format!("`{}`", description.name),
        list(description.dependencies.iter().map(|name| format!("`{name}`")).chain(of_single)),
        list(description.bundles.iter().map(|id| format!("`{id}`"))),
        list(description.incompatibilities.iter().map(ToString::to_string)),
        role(description.requirements.master.as_ref()),
        role(description.requirements.worker.as_ref()),
    ]
}
