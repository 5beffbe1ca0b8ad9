//! Tools: which commands are given to an assistant, and how each is described.

use clap::{Arg, ArgAction, Command};
use serde_json::{Map, Value, json};

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Reads,
    Changes,
    /// What is gone then can't be had again.
    Destroys,
}

/// The commands that are tools. Files, credentials and keys are left to people.
pub const TABLE: &[(&[&str], Effect)] = &[
    (&["cluster", "list"], Effect::Reads),
    (&["cluster", "show"], Effect::Reads),
    (&["cluster", "manifest", "list"], Effect::Reads),
    (&["infra-env", "list"], Effect::Reads),
    (&["infra-env", "show"], Effect::Reads),
    (&["host", "list"], Effect::Reads),
    (&["host", "show"], Effect::Reads),
    (&["event", "list"], Effect::Reads),
    (&["operator", "list"], Effect::Reads),
    (&["operator", "show"], Effect::Reads),
    (&["diff"], Effect::Reads),
    (&["machine", "list"], Effect::Reads),
    (&["cluster", "create"], Effect::Changes),
    (&["cluster", "update"], Effect::Changes),
    (&["cluster", "install"], Effect::Changes),
    (&["cluster", "add-hosts"], Effect::Changes),
    (&["infra-env", "create"], Effect::Changes),
    (&["infra-env", "update"], Effect::Changes),
    (&["host", "update"], Effect::Changes),
    (&["host", "bind"], Effect::Changes),
    (&["host", "unbind"], Effect::Changes),
    (&["host", "install"], Effect::Changes),
    (&["host", "disable"], Effect::Changes),
    (&["host", "enable"], Effect::Changes),
    (&["apply"], Effect::Changes),
    (&["machine", "boot"], Effect::Destroys),
    (&["machine", "power"], Effect::Destroys),
    (&["cluster", "cancel"], Effect::Destroys),
    (&["cluster", "reset"], Effect::Destroys),
    (&["cluster", "delete"], Effect::Destroys),
    (&["infra-env", "delete"], Effect::Destroys),
    (&["host", "delete"], Effect::Destroys),
];

/// The option of `apply` and `diff` for which the assistant gives text instead of a file.
pub const MANIFESTS: &str = "filename";
/// What that is called.
const TEXT: &str = "manifests";
/// The option that the server fills in.
pub const PULL_SECRET: &str = "pull_secret_file";

/// A command as a tool.
pub struct Tool {
    pub name: String,
    /// The words of the command.
    pub path: &'static [&'static str],
    effect: Effect,
    about: String,
    arguments: Vec<Arg>,
    /// Whether the server says which pull secret.
    pub takes_pull_secret: bool,
    /// Whether text of manifests is given to it.
    pub takes_manifests: bool,
}

/// The tools that are offered. What needs a pull secret is not offered without one.
pub fn all(program: &Command, read_only: bool, has_pull_secret: bool) -> Vec<Tool> {
    let tools = TABLE.iter().filter_map(|(path, effect)| Tool::new(program, path, *effect));
    let tools = tools.filter(|tool| !read_only || tool.effect == Effect::Reads);
    tools.filter(|tool| has_pull_secret || !(tool.takes_pull_secret && tool.creates())).collect()
}

impl Tool {
    fn new(program: &Command, path: &'static [&'static str], effect: Effect) -> Option<Self> {
        let command = path.iter().try_fold(program, |command, word| command.find_subcommand(word))?;
        let is_file = |arg: &Arg| arg.get_id().as_str().ends_with("_file");
        let has = |id: &str| command.get_arguments().any(|arg| arg.get_id() == id);
        let ours = |arg: &&Arg| !arg.is_global_set() && !is_file(arg) && arg.get_id() != MANIFESTS;
        // An option that waits would hold up the assistant.
        let quick = |arg: &&Arg| !matches!(arg.get_id().as_str(), "install" | "timeout");
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        Some(Self {
            name: path.join("_").replace('-', "_"),
            path,
            effect,
            about,
            takes_pull_secret: has(PULL_SECRET),
            takes_manifests: has(MANIFESTS),
            arguments: command.get_arguments().filter(ours).filter(quick).cloned().collect(),
        })
    }

    fn creates(&self) -> bool {
        self.path.last() == Some(&"create")
    }

    /// How the protocol shows it.
    pub fn describe(&self) -> Value {
        let mut properties: Map<String, Value> =
            self.arguments.iter().map(|arg| (arg.get_id().to_string(), property(arg))).collect();
        let mut required: Vec<_> = self
            .arguments
            .iter()
            .filter(|arg| arg.is_required_set())
            .map(|arg| arg.get_id().to_string())
            .collect();
        if self.takes_manifests {
            let about = "Kubernetes objects as YAML: ClusterDeployment, AgentClusterInstall, InfraEnv and what they refer to";
            properties.insert(TEXT.to_owned(), json!({ "type": "string", "description": about }));
            required.push(TEXT.to_owned());
        }
        json!({
            "name": self.name,
            "description": self.about,
            "inputSchema": {
                "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            },
            "annotations": {
                "readOnlyHint": self.effect == Effect::Reads,
                "destructiveHint": self.effect == Effect::Destroys,
            },
        })
    }

    /// The words of the command line for the arguments of a call. No value is taken for an option.
    pub fn arguments(&self, given: &Value) -> Result<Vec<String>, String> {
        let none = Map::new();
        let given = match given {
            Value::Null => &none,
            Value::Object(given) => given,
            _ => return Err("arguments have to be an object".to_owned()),
        };
        if let Some(strange) = given.keys().find(|name| !self.knows(name)) {
            return Err(format!("{} takes no argument {strange:?}", self.name));
        }
        if self.takes_manifests && !given.get(TEXT).is_some_and(Value::is_string) {
            return Err(format!("{} needs {TEXT:?}, a text", self.name));
        }
        let (mut options, mut positions) = (Vec::new(), vec!["--".to_owned()]);
        for arg in &self.arguments {
            let id = arg.get_id().as_str();
            let Some(value) = given.get(id) else {
                if arg.is_required_set() {
                    return Err(format!("{} needs {id:?}", self.name));
                }
                continue;
            };
            let values = values(arg, value).ok_or_else(|| format!("{id:?} has to be {}", kind(arg)))?;
            match arg.get_long() {
                None => positions.extend(values),
                Some(long) if is_flag(arg) => {
                    options.extend(values.iter().any(|value| value == "true").then(|| format!("--{long}")));
                }
                Some(long) => options.extend(values.iter().map(|value| format!("--{long}={value}"))),
            }
        }
        if positions.len() > 1 {
            options.extend(positions);
        }
        Ok(options)
    }

    /// The text of manifests in a call.
    pub fn manifests(given: &Value) -> Option<&str> {
        given[TEXT].as_str()
    }

    fn knows(&self, name: &str) -> bool {
        (self.takes_manifests && name == TEXT) || self.arguments.iter().any(|arg| arg.get_id() == name)
    }
}

fn is_flag(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue)
}

fn is_list(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append)
}

fn kind(arg: &Arg) -> &'static str {
    match (is_flag(arg), is_list(arg)) {
        (true, _) => "true or false",
        (_, true) => "a list of texts",
        _ => "a text",
    }
}

fn property(arg: &Arg) -> Value {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    if is_flag(arg) {
        return json!({ "type": "boolean", "description": help });
    }
    let mut text = json!({ "type": "string" });
    let names = arg.get_possible_values();
    if !names.is_empty() {
        text["enum"] = names.iter().map(|value| value.get_name().to_owned()).collect();
    }
    if is_list(arg) {
        return json!({ "type": "array", "items": text, "description": help });
    }
    text["description"] = help.into();
    text
}

/// What is given for an argument, if it has the right kind.
fn values(arg: &Arg, value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Bool(value) if is_flag(arg) => Some(vec![value.to_string()]),
        Value::String(text) if !is_flag(arg) => Some(vec![text.clone()]),
        Value::Array(all) if is_list(arg) => {
            all.iter().map(|value| value.as_str().map(str::to_owned)).collect()
        }
        _ => None,
    }
}
