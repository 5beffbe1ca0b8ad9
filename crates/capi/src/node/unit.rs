//! Units of systemd that run one program to its end.

/// A unit that runs one program.
pub(super) struct Unit {
    description: &'static str,
    start: String,
    environment: Option<&'static str>,
    unless: Option<String>,
    relations: Vec<(&'static str, &'static str)>,
    remains: bool,
}

/// A text inside of a quoted argument.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' | '"' => escaped.extend(['\\', character]),
            '$' | '%' => escaped.extend([character, character]),
            other => escaped.push(other),
        }
    }
    escaped
}

impl Unit {
    pub(super) fn new(description: &'static str, program: &str) -> Self {
        // By bash, for the place of the program may forbid execution.
        Self {
            description,
            start: format!("/bin/bash {program}"),
            environment: None,
            unless: None,
            relations: Vec::new(),
            remains: false,
        }
    }

    /// A further argument, escaped already.
    pub(super) fn argument(mut self, argument: &str) -> Self {
        self.start = format!("{} \"{argument}\"", self.start);
        self
    }

    /// A file with variables; it may be missing.
    pub(super) fn environment(mut self, path: &'static str) -> Self {
        self.environment = Some(path);
        self
    }

    /// Runs only while this file is missing.
    pub(super) fn unless(mut self, path: &str) -> Self {
        self.unless = Some(path.to_owned());
        self
    }

    pub(super) fn after(self, unit: &'static str) -> Self {
        self.related("After", unit)
    }

    pub(super) fn before(self, unit: &'static str) -> Self {
        self.related("Before", unit)
    }

    pub(super) fn wants(self, unit: &'static str) -> Self {
        self.related("Wants", unit)
    }

    pub(super) fn requires(self, unit: &'static str) -> Self {
        self.related("Requires", unit)
    }

    fn related(mut self, relation: &'static str, unit: &'static str) -> Self {
        self.relations.push((relation, unit));
        self
    }

    /// Counts as running after its program has ended.
    pub(super) fn remains(mut self) -> Self {
        self.remains = true;
        self
    }

    pub(super) fn text(&self) -> String {
        let mut lines = vec!["[Unit]".to_owned(), format!("Description={}", self.description)];
        for relation in ["Wants", "Requires", "After", "Before"] {
            let related = self.relations.iter().filter(|(known, _)| *known == relation);
            let units: Vec<_> = related.map(|(_, unit)| *unit).collect();
            if !units.is_empty() {
                lines.push(format!("{relation}={}", units.join(" ")));
            }
        }
        lines.extend(self.unless.as_ref().map(|path| format!("ConditionPathExists=!{path}")));
        lines.extend(["".to_owned(), "[Service]".to_owned(), "Type=oneshot".to_owned()]);
        lines.extend(self.environment.map(|path| format!("EnvironmentFile=-{path}")));
        lines.push(format!("ExecStart={}", self.start));
        if self.remains {
            lines.push("RemainAfterExit=yes".to_owned());
        }
        lines.extend(["".to_owned(), "[Install]".to_owned(), "WantedBy=multi-user.target".to_owned()]);
        lines.join("\n") + "\n"
    }
}
