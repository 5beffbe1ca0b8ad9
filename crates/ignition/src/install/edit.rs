//! A config as a tree: read, edited, written.

use serde_json::{Map, Value, json};

use assisted_ignition_spec::config::Config;
use assisted_ignition_spec::merge;
use assisted_ignition_spec::resource::Resource;
use assisted_ignition_spec::validate::{Invalid, validate};

/// Versions of the specification whose files and units are those that are edited here.
const VERSIONS: [&str; 6] = ["3.1.0", "3.2.0", "3.3.0", "3.4.0", "3.5.0", "3.6.0"];

/// Why a config can't be edited.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("what the installer made is no Ignition config: {0}")]
    Parse(#[source] serde_json::Error),
    #[error("the Ignition config has version {0:?}; 3.1.0 to 3.6.0 are known")]
    Version(String),
    #[error("the Ignition config has {0} in the place of a list")]
    Shape(&'static str),
    #[error("the override is not an Ignition config: {0}")]
    Override(#[source] serde_json::Error),
    #[error("the override has Ignition version {over:?}; for this config it must not be above {base}")]
    OverrideVersion { over: String, base: String },
    #[error("the config with the override is not valid: {0}")]
    Invalid(#[from] Invalid),
    #[error("could not find cvo-overrides file")]
    NoClusterId,
    #[error("Not enough registered hosts in role {0} to match with BareMetalHosts")]
    TooFewHosts(String),
    #[error("the file {0} of the Ignition config can't be read")]
    Unreadable(String),
    #[error("Either API VIP {api} or Ingress VIP {ingress} are not set")]
    NoVips { api: String, ingress: String },
}

/// A file that is put into a config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile<'a> {
    pub path: &'a str,
    /// Decimal in the config: 0o644 is 420.
    pub mode: u32,
    /// Whether a file that the image has is replaced.
    pub overwrite: bool,
    pub source: String,
}

impl<'a> NewFile<'a> {
    /// A file whose text can be read in the config.
    pub fn text(path: &'a str, mode: u32, overwrite: bool, text: &str) -> Self {
        Self { path, mode, overwrite, source: Resource::text(text).source.unwrap_or_default() }
    }
}

/// A config.
#[derive(Clone, PartialEq)]
pub struct Tree(Value);

impl Tree {
    /// Reads a config of a known version.
    ///
    /// # Errors
    ///
    /// [`EditError::Parse`] or [`EditError::Version`].
    pub fn read(text: &[u8]) -> Result<Self, EditError> {
        let value: Value = serde_json::from_slice(text).map_err(EditError::Parse)?;
        let tree = Self(value);
        if VERSIONS.contains(&tree.version()) {
            Ok(tree)
        } else {
            Err(EditError::Version(tree.version().to_owned()))
        }
    }

    /// A config that does nothing.
    pub fn empty(version: &str) -> Self {
        Self(json!({"ignition": {"version": version}}))
    }

    /// Its version of the specification.
    pub fn version(&self) -> &str {
        self.0["ignition"]["version"].as_str().unwrap_or_default()
    }

    /// Its text. The same config has the same text.
    pub fn write(&self) -> Vec<u8> {
        self.0.to_string().into_bytes()
    }

    /// Its files.
    pub fn files(&self) -> &[Value] {
        self.0["storage"]["files"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Its files, to be changed.
    pub(super) fn files_mut(&mut self) -> Result<&mut Vec<Value>, EditError> {
        let root = self.0.as_object_mut().ok_or(EditError::Shape("something"))?;
        let storage = member(root, "storage", || json!({}));
        let storage = storage.as_object_mut().ok_or(EditError::Shape("storage"))?;
        member(storage, "files", || json!([])).as_array_mut().ok_or(EditError::Shape("storage.files"))
    }

    /// Puts a file in; one with the same path is replaced.
    ///
    /// # Errors
    ///
    /// [`EditError::Shape`] when the config holds something else where files are.
    pub fn put(&mut self, file: NewFile<'_>) -> Result<(), EditError> {
        let source = Value::String(file.source);
        let entry = json!({
            "path": file.path, "mode": file.mode, "overwrite": file.overwrite, "user": {"name": "root"},
            "contents": {"source": source},
        });
        let files = self.files_mut()?;
        files.retain(|known| known["path"] != file.path);
        files.push(entry);
        Ok(())
    }

    /// Replaces what a file of the config holds; all else of it stays.
    ///
    /// # Errors
    ///
    /// [`EditError::Unreadable`] when there is no such file.
    pub fn replace(&mut self, path: &str, content: &[u8]) -> Result<(), EditError> {
        let file = self.files_mut()?.iter_mut().find(|file| file["path"] == path);
        let file = file.ok_or_else(|| EditError::Unreadable(path.to_owned()))?;
        file["contents"] = json!({"source": Resource::bytes(content).source});
        Ok(())
    }

    /// What a file holds, if it is in the config itself.
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        let file = self.files().iter().find(|file| file["path"] == path)?;
        data(&file["contents"])
    }

    /// The places of further configs that are merged in.
    pub(super) fn merged_sources(&mut self) -> impl Iterator<Item = &mut Value> {
        let list = self.0.pointer_mut("/ignition/config/merge").and_then(Value::as_array_mut);
        list.into_iter().flatten().filter_map(|entry| entry.get_mut("source"))
    }

    /// Lays a user's config over this one; an empty text is none.
    ///
    /// # Errors
    ///
    /// When it is no config, is of a newer version, or makes a config that Ignition refuses.
    pub fn overlay(&mut self, text: &str) -> Result<(), EditError> {
        if text.is_empty() {
            return Ok(());
        }
        let over: Value = serde_json::from_str(text).map_err(EditError::Override)?;
        let version = over["ignition"]["version"].as_str().unwrap_or_default().to_owned();
        let base = self.version().to_owned();
        if !VERSIONS.contains(&version.as_str()) || version > base {
            return Err(EditError::OverrideVersion { over: version, base });
        }
        self.merge(over);
        self.0["ignition"]["version"] = base.into();
        let typed: Config = serde_json::from_value(self.0.clone()).map_err(EditError::Override)?;
        Ok(validate(&typed)?)
    }

    /// Lays over what is known to fit.
    pub(super) fn merge(&mut self, over: Value) {
        self.0 = merge::merge(self.0.take(), over);
    }
}

fn member<'m>(map: &'m mut Map<String, Value>, name: &str, empty: impl FnOnce() -> Value) -> &'m mut Value {
    let found = map.entry(name).or_insert(Value::Null);
    if found.is_null() {
        *found = empty();
    }
    found
}

/// What a resource holds, if it is a data URL.
pub(super) fn data(resource: &Value) -> Option<Vec<u8>> {
    let resource = Resource { source: resource["source"].as_str().map(str::to_owned), ..Resource::default() };
    resource.data()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(value: &Value) -> Tree {
        Tree::read(value.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn what_is_not_known_stays() {
        let config =
            json!({"ignition": {"version": "3.6.0", "new": [1]}, "kernelArguments": {"shouldExist": ["a"]}});
        let mut tree = tree(&config);
        tree.put(NewFile::text("/a", 0o644, false, "x y")).unwrap();
        tree.overlay(r#"{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/b","contents":{"source":"data:,b"}}]}}"#)
            .unwrap();
        let written: Value = serde_json::from_slice(&tree.write()).unwrap();
        assert_eq!(written["ignition"], config["ignition"]);
        assert_eq!(written["kernelArguments"], config["kernelArguments"]);
        assert_eq!(tree.content("/a").unwrap(), b"x y");
        assert_eq!(tree.content("/b").unwrap(), b"b");
        assert_eq!(written["storage"]["files"][0]["mode"], 420);
    }

    #[test]
    fn a_path_is_there_once() {
        let mut tree = Tree::empty("3.2.0");
        tree.put(NewFile::text("/a", 0o644, false, "old")).unwrap();
        tree.put(NewFile::text("/a", 0o600, true, "new")).unwrap();
        assert_eq!((tree.files().len(), tree.content("/a").unwrap()), (1, b"new".to_vec()));
    }

    #[test]
    fn what_can_t_be_edited() {
        for text in
            ["", "[]", "{}", r#"{"ignition":{"version":"2.2.0"}}"#, r#"{"ignition":{"version":"3.7.0"}}"#]
        {
            assert!(Tree::read(text.as_bytes()).is_err(), "{text}");
        }
        let mut odd = tree(&json!({"ignition": {"version": "3.2.0"}, "storage": {"files": 7}}));
        assert!(matches!(odd.put(NewFile::text("/a", 0, false, "")), Err(EditError::Shape(_))));
        let mut old = Tree::empty("3.1.0");
        for over in [
            r#"{"ignition":{"version":"3.2.0"}}"#,
            "{",
            "{}",
            r#"{"ignition":{"version":"3.1.0"},"storage":{"files":[{"path":"a"}]}}"#,
        ] {
            assert!(old.overlay(over).is_err(), "{over}");
        }
    }
}
