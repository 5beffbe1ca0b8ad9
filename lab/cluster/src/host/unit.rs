//! What is read of a unit's file: when it is started, what is run for it, and what happens when that ends.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::words;
use crate::files;

/// Folders with units.
const FOLDER: &str = "/etc/systemd/system";
/// Where Ignition says which of them are started.
const PRESETS: &str = "/etc/systemd/system-preset";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restart {
    #[default]
    No,
    Always,
    OnFailure,
    /// After a signal that nobody of the unit's own sent.
    OnAbnormal,
}

/// A command of a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub words: Vec<String>,
    /// Whether the command's failure is ignored, as a hyphen before it says.
    pub may_fail: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    pub name: String,
    pub after: Vec<String>,
    pub before: Vec<String>,
    /// Whether it is over once its commands have ended.
    pub oneshot: bool,
    pub remains: bool,
    pub pre: Vec<Line>,
    pub start: Vec<Line>,
    pub env: Vec<(String, String)>,
    pub env_files: Vec<String>,
    pub folder: Option<String>,
    pub restart: Restart,
    pub restart_after: Duration,
    /// Conditions, each a path, and whether it has to be there.
    pub paths: Vec<(String, bool)>,
    /// Paths of which one is enough.
    pub any_path: Vec<String>,
    /// Whether it is only for systems that this one is not.
    pub foreign: bool,
}

impl Unit {
    /// Reads the unit of a name.
    pub fn find(name: &str) -> Result<Self> {
        let path = Path::new(FOLDER).join(name);
        if name.contains('/') || !path.is_file() {
            bail!("Unit {name} not found.");
        }
        let mut unit = Self::new(name);
        unit.read(&files::text(&path)?).with_context(|| format!("{} can't be run here", path.display()))?;
        let mut more: Vec<_> = std::fs::read_dir(path.with_extension("service.d"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        more.sort();
        for path in more {
            unit.read(&files::text(&path)?)?;
        }
        Ok(unit)
    }

    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), restart_after: Duration::from_millis(100), ..Self::default() }
    }

    fn read(&mut self, text: &str) -> Result<()> {
        for line in text.lines().map(str::trim) {
            if let Some((name, value)) = line.split_once('=')
                && !line.starts_with(['#', ';'])
            {
                self.set(name.trim(), value.trim())?;
            }
        }
        Ok(())
    }

    /// Sets a property as a unit's file names it.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let names = || value.split_whitespace().map(str::to_owned);
        match name {
            "After" => self.after.extend(names()),
            "Before" => self.before.extend(names()),
            "Type" => {
                self.oneshot = match value {
                    "oneshot" => true,
                    "simple" | "exec" => false,
                    _ => bail!("Type={value} is not known"),
                }
            }
            "RemainAfterExit" => self.remains = matches!(value, "yes" | "true"),
            "ExecStartPre" => self.pre.push(command(value)?),
            "ExecStart" => self.start.push(command(value)?),
            "Environment" => {
                for word in words::split(value)? {
                    let (name, value) = word.split_once('=').context("a variable without a value")?;
                    self.env.push((name.to_owned(), value.to_owned()));
                }
            }
            "EnvironmentFile" => self.env_files.push(value.to_owned()),
            "WorkingDirectory" => self.folder = Some(value.to_owned()),
            "Restart" => {
                self.restart = match value {
                    "no" => Restart::No,
                    "always" => Restart::Always,
                    "on-failure" => Restart::OnFailure,
                    "on-abnormal" => Restart::OnAbnormal,
                    _ => bail!("Restart={value} is not known"),
                }
            }
            "RestartSec" => self.restart_after = Duration::from_secs(value.parse()?),
            "ConditionPathExists" | "ConditionPathIsDirectory" => {
                match (value.strip_prefix('!'), value.strip_prefix('|')) {
                    (Some(path), _) => self.paths.push((path.to_owned(), false)),
                    (None, Some(path)) => self.any_path.push(path.to_owned()),
                    (None, None) => self.paths.push((value.to_owned(), true)),
                }
            }
            "ConditionSecurity" => self.foreign |= value == "selinux",
            // How long it may start and stop, what wants it, what it is described by: nothing here depends on it.
            _ => {}
        }
        Ok(())
    }

    /// Whether the unit's conditions hold, so that it runs.
    pub fn holds(&self) -> bool {
        let any = self.any_path.is_empty() || self.any_path.iter().any(|path| Path::new(path).exists());
        any && !self.foreign && self.paths.iter().all(|(path, there)| Path::new(path).exists() == *there)
    }

    /// Its variables, those of files included.
    pub fn environment(&self) -> Result<Vec<(String, String)>> {
        let mut all = self.env.clone();
        for path in &self.env_files {
            // One with a hyphen before it may be missing.
            let text = match path.strip_prefix('-') {
                Some(path) => files::text(path).unwrap_or_default(),
                None => files::text(path)?,
            };
            for line in text.lines().filter(|line| !line.is_empty()) {
                let (name, value) = line.split_once('=').context("a line that sets no variable")?;
                all.push((name.to_owned(), words::value(value)?));
            }
        }
        Ok(all)
    }
}

fn command(text: &str) -> Result<Line> {
    let (text, may_fail) = match text.strip_prefix('-') {
        Some(text) => (text, true),
        None => (text, false),
    };
    let words = words::split(text)?;
    if words.is_empty() {
        bail!("a command line is empty");
    }
    Ok(Line { words, may_fail })
}

/// The units that are started with the system, each after those that it names.
pub fn enabled() -> Vec<Unit> {
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(PRESETS).into_iter().flatten().flatten() {
        let text = files::text(entry.path()).unwrap_or_default();
        for name in text.lines().filter_map(|line| line.strip_prefix("enable ")) {
            // What an image has already, Ignition names once more.
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    let mut units = Vec::new();
    for name in names {
        match Unit::find(&name) {
            Ok(unit) => units.push(unit),
            Err(error) => tracing::warn!(unit = name, error = format!("{error:#}"), "left out"),
        }
    }
    ordered(units)
}

fn ordered(mut left: Vec<Unit>) -> Vec<Unit> {
    let mut done: Vec<Unit> = Vec::new();
    while !left.is_empty() {
        let waits = |unit: &Unit| {
            left.iter().any(|other| {
                other.name != unit.name
                    && (unit.after.contains(&other.name) || other.before.contains(&unit.name))
            })
        };
        // Whoever waits in a circle is started all the same.
        let next = left.iter().position(|unit| !waits(unit)).unwrap_or_default();
        done.push(left.remove(next));
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_unit_says() {
        let mut unit = Unit::new("agent.service");
        unit.read(
            "[Unit]\nAfter=network-online.target x.service\nConditionPathExists=!/no/such\n# Type=none\n[Service]\nType=simple\n\
             Restart=always\nRestartSec=3\nEnvironment=\"A=b c\" D=e\nExecStartPre=-modprobe x\nExecStart=/a --b \"c d\"\n",
        )
        .unwrap();
        assert_eq!(unit.after, ["network-online.target", "x.service"]);
        assert_eq!((unit.restart, unit.restart_after), (Restart::Always, Duration::from_secs(3)));
        assert_eq!(unit.env, [("A".to_owned(), "b c".to_owned()), ("D".to_owned(), "e".to_owned())]);
        assert_eq!(unit.start[0].words, ["/a", "--b", "c d"]);
        assert!(unit.pre[0].may_fail && unit.holds() && !unit.oneshot);
        assert!(unit.read("Type=forking").is_err());
    }

    #[test]
    fn each_comes_after_those_that_it_names() {
        let unit = |name: &str, after: &[&str], before: &[&str]| Unit {
            after: after.iter().map(|name| (*name).to_owned()).collect(),
            before: before.iter().map(|name| (*name).to_owned()).collect(),
            ..Unit::new(name)
        };
        let units = ordered(vec![unit("a", &["c"], &[]), unit("b", &[], &["c"]), unit("c", &[], &[])]);
        let names: Vec<_> = units.iter().map(|unit| unit.name.as_str()).collect();
        assert_eq!(names, ["b", "c", "a"]);
        assert_eq!(ordered(vec![unit("a", &["b"], &[]), unit("b", &["a"], &[])]).len(), 2);
    }
}
