//! A MachineOSConfig that a user brings, read strictly (ocl-day1 §A2.1, V01-V03, V05-V08, V11).

use assisted_wire::on_cluster_layering::Pool;
use serde_json::{Map, Value};

use super::containerfile::Containerfile;
use super::reference::PushSpec;
use super::violation::{Rule, Violation};

/// The group of MachineOSConfigs and their like.
pub const GROUP: &str = "machineconfiguration.openshift.io";
/// The kind that users bring.
pub const KIND: &str = "MachineOSConfig";
/// Says that an image is there already.
pub const PRE_BUILT_IMAGE: &str = "machineconfiguration.openshift.io/pre-built-image";
const ANNOTATIONS: [&str; 3] = [
    PRE_BUILT_IMAGE,
    "machineconfiguration.openshift.io/current-machine-os-build",
    "machineconfiguration.openshift.io/rebuild",
];
const ARCHITECTURES: [&str; 5] = ["ARM64", "AMD64", "PPC64LE", "S390X", "NoArch"];
const MOST_FILES: usize = 4;
/// Longest Containerfile, in characters.
pub const LONGEST_FILE: usize = 4096;

/// One that fits the rules which it can be held to by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineOsConfig {
    pub pool: Pool,
    pub push_spec: String,
    /// In the namespace of the machine config operator, as all secrets here.
    pub push_secret: String,
    pub base_secret: Option<String>,
    /// The one that counts; `None`: the image is the base with the configuration in it.
    pub containerfile: Option<String>,
    /// Architectures of Containerfiles that don't count.
    pub ignored: Vec<String>,
    /// The object as it was brought.
    pub document: Value,
}

/// Whether an object is one, of whatever version.
pub fn is_one(object: &Value) -> bool {
    let group =
        object["apiVersion"].as_str().and_then(|version| version.split_once('/')).map(|parts| parts.0);
    object["kind"] == KIND && group == Some(GROUP)
}

/// Whether one tells of an image that is there already, as users of an image built elsewhere bring it.
pub fn is_pre_built(object: &Value) -> bool {
    !object["metadata"]["annotations"][PRE_BUILT_IMAGE].is_null()
}

/// Reads one for machines of an architecture, `amd64` or `arm64`; empty: any.
///
/// # Errors
///
/// The rules that the object violates by itself.
pub fn read(object: &Value, architecture: &str) -> Result<MachineOsConfig, Vec<Violation>> {
    let mut violations = Vec::new();
    v01(object, &mut violations);
    let pool = v02_v03(object, &mut violations);
    v05(object, &mut violations);
    let push_spec = v06(object, &mut violations);
    let (containerfile, ignored) = v07(object, &mut violations);
    v08(containerfile.as_deref(), architecture, &mut violations);
    v11(object, &mut violations);
    let spec = &object["spec"];
    let named = |field: &str| spec[field]["name"].as_str().filter(|name| is_name(name)).map(str::to_owned);
    let push_secret = named("renderedImagePushSecret");
    match (pool, push_spec, push_secret) {
        (Some(pool), Some(push_spec), Some(push_secret)) if violations.is_empty() => Ok(MachineOsConfig {
            pool,
            push_spec,
            push_secret,
            base_secret: named("baseImagePullSecret"),
            containerfile,
            ignored,
            document: object.clone(),
        }),
        _ => Err(violations),
    }
}

/// The name that an object has, for people.
fn called(object: &Value) -> String {
    let name = object["metadata"]["name"].as_str().unwrap_or("without a name");
    format!("MachineOSConfig {}", name.chars().take(63).collect::<String>())
}

fn unknown<'o>(object: &'o Value, known: &[&str]) -> Option<&'o str> {
    let members = object.as_object().into_iter().flat_map(Map::keys);
    members.map(String::as_str).find(|member| !known.contains(member))
}

/// Version, and no field that the version lacks.
fn v01(object: &Value, violations: &mut Vec<Violation>) {
    let mut wrong = |text: String| {
        let remedy =
            "Write it as kind MachineOSConfig of machineconfiguration.openshift.io/v1 is documented.";
        violations.push(Violation::new(Rule::V01, format!("{} {text}", called(object)), remedy));
    };
    if object["apiVersion"] != "machineconfiguration.openshift.io/v1" {
        wrong("must have apiVersion machineconfiguration.openshift.io/v1".to_owned());
    }
    let spec = &object["spec"];
    if !spec.is_object() {
        wrong("has no spec".to_owned());
    }
    let places = [
        ("", object, &["apiVersion", "kind", "metadata", "spec"][..]),
        (
            "spec",
            spec,
            &[
                "machineConfigPool",
                "imageBuilder",
                "baseImagePullSecret",
                "renderedImagePushSecret",
                "renderedImagePushSpec",
                "containerFile",
            ],
        ),
        ("spec.machineConfigPool", &spec["machineConfigPool"], &["name"]),
        ("spec.imageBuilder", &spec["imageBuilder"], &["imageBuilderType"]),
        ("spec.baseImagePullSecret", &spec["baseImagePullSecret"], &["name"]),
        ("spec.renderedImagePushSecret", &spec["renderedImagePushSecret"], &["name"]),
    ];
    for (place, value, known) in places {
        if let Some(member) = unknown(value, known) {
            let member: String = member.chars().take(63).collect();
            wrong(format!(
                "has a field {member:?} that is not known in {}",
                if place.is_empty() { "it" } else { place }
            ));
        }
    }
    for (field, required) in [("renderedImagePushSecret", true), ("baseImagePullSecret", false)] {
        let given = &spec[field];
        if (required || !given.is_null()) && !given["name"].as_str().is_some_and(is_name) {
            wrong(format!("must name a Secret in spec.{field}.name"));
        }
    }
}

/// Its name is its pool's, and the pool is one whose image is built.
fn v02_v03(object: &Value, violations: &mut Vec<Violation>) -> Option<Pool> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let pool = object["spec"]["machineConfigPool"]["name"].as_str().unwrap_or_default();
    if name != pool || !is_name(pool) {
        let text = format!(
            "{} must have the name of its pool, in metadata.name and in spec.machineConfigPool.name",
            called(object)
        );
        violations.push(Violation::new(Rule::V02, text, "Give it the name of its pool, master or worker."));
    }
    let known = pool.parse().ok();
    if known.is_none() {
        let text = format!("{} is for a pool whose image can't be built at installation", called(object));
        violations.push(Violation::new(
            Rule::V03,
            text,
            "Only master and worker are possible; bring the others once the cluster is installed.",
        ));
    }
    known
}

fn v05(object: &Value, violations: &mut Vec<Violation>) {
    if object["spec"]["imageBuilder"]["imageBuilderType"] != "Job" {
        let text = format!("{} must have imageBuilderType Job", called(object));
        violations.push(Violation::new(Rule::V05, text, "Set spec.imageBuilder.imageBuilderType to Job."));
    }
}

/// Where the image is pushed, in a form that a status can hold once it has a digest.
fn v06(object: &Value, violations: &mut Vec<Violation>) -> Option<String> {
    let text = object["spec"]["renderedImagePushSpec"].as_str().unwrap_or_default();
    let why = match PushSpec::parse(text) {
        Ok(spec) if spec.namespaces <= 1 => return Some(text.to_owned()),
        Ok(_) => "it may have one part between host and name at most",
        Err(why) => why,
    };
    let text = format!("{} can't be pushed to its renderedImagePushSpec: {why}", called(object));
    violations.push(Violation::new(Rule::V06, text, "Write it as host[:port]/[namespace/]name:tag."));
    None
}

/// The Containerfile that counts, and the architectures of those that don't.
fn v07(object: &Value, violations: &mut Vec<Violation>) -> (Option<String>, Vec<String>) {
    let mut wrong = |text: &str| {
        let remedy = "Bring one entry with containerfileArch NoArch and at most 4096 characters.";
        violations.push(Violation::new(Rule::V07, format!("{} {text}", called(object)), remedy));
    };
    let empty = Vec::new();
    let files = match &object["spec"]["containerFile"] {
        Value::Null => &empty,
        Value::Array(files) => files,
        _ => {
            wrong("must have a list in spec.containerFile");
            &empty
        }
    };
    if files.len() > MOST_FILES {
        wrong("has more than 4 entries in spec.containerFile");
    }
    let (mut counts, mut seen) = (None, Vec::new());
    for file in files.iter().take(MOST_FILES) {
        if unknown(file, &["containerfileArch", "content"]).is_some() {
            wrong("has a field that is not known in spec.containerFile");
        }
        let architecture = match &file["containerfileArch"] {
            Value::Null => "NoArch",
            Value::String(architecture) if ARCHITECTURES.contains(&architecture.as_str()) => architecture,
            _ => {
                wrong("must have ARM64, AMD64, PPC64LE, S390X or NoArch as containerfileArch");
                continue;
            }
        };
        if seen.contains(&architecture) {
            wrong("has two entries of one containerfileArch");
        }
        seen.push(architecture);
        let Some(content) = file["content"].as_str() else {
            wrong("has an entry without content in spec.containerFile");
            continue;
        };
        if content.chars().count() > LONGEST_FILE {
            wrong("has a Containerfile of more than 4096 characters");
        } else if architecture == "NoArch" {
            counts = Some(content.to_owned());
        }
    }
    let ignored = seen.into_iter().filter(|architecture| *architecture != "NoArch");
    (counts, ignored.map(str::to_owned).collect())
}

fn v08(containerfile: Option<&str>, architecture: &str, violations: &mut Vec<Violation>) {
    let Some(text) = containerfile else { return };
    if let Err(why) = Containerfile::parse(text, architecture) {
        let remedy = "Begin it with FROM configs AS final, and build and try it with podman build.";
        violations.push(Violation::new(
            Rule::V08,
            format!("The Containerfile can't be built: {why}"),
            remedy,
        ));
    }
}

fn v11(object: &Value, violations: &mut Vec<Violation>) {
    let annotations = object["metadata"]["annotations"].as_object();
    let given = annotations.into_iter().flat_map(Map::keys).find(|name| ANNOTATIONS.contains(&name.as_str()));
    if let Some(name) = given {
        let text = format!("{} has the annotation {name}", called(object));
        violations.push(Violation::new(
            Rule::V11,
            text,
            "Remove it: the image is built at installation, which sets the annotation itself.",
        ));
    }
}

/// Names of objects, as Kubernetes takes them.
pub(super) fn is_name(text: &str) -> bool {
    let label = |label: &str| {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !label.is_empty() && label.chars().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}
