//! A user's Containerfile, as far as it must be understood before it is built: that it can be parsed, and that what it makes in the
//! end stands on stage `configs` (ocl-day1 §A3.4, V08).

use std::collections::BTreeMap;

/// The stage that is there already: the release's image with the rendered configuration.
pub const BASE_STAGE: &str = "configs";

const INSTRUCTIONS: [&str; 18] = [
    "FROM",
    "RUN",
    "CMD",
    "LABEL",
    "MAINTAINER",
    "EXPOSE",
    "ENV",
    "ADD",
    "COPY",
    "ENTRYPOINT",
    "VOLUME",
    "USER",
    "WORKDIR",
    "ARG",
    "ONBUILD",
    "STOPSIGNAL",
    "HEALTHCHECK",
    "SHELL",
];
/// Instructions that may have texts in the lines below them.
const WITH_HEREDOCS: [&str; 3] = ["RUN", "COPY", "ADD"];

/// A Containerfile that was understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Containerfile {
    /// Stages in their order; none: the whole file goes on with stage `configs`.
    pub stages: Vec<Stage>,
}

/// A stage: the lines that follow one FROM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// An earlier stage, `configs`, or the name of an image.
    pub base: String,
    pub name: Option<String>,
}

impl Containerfile {
    /// Reads a Containerfile for machines of an architecture, `amd64` or `arm64`; an empty one: any.
    ///
    /// # Errors
    ///
    /// What is wrong, with the line.
    pub fn parse(text: &str, architecture: &str) -> Result<Self, String> {
        let mut reader = Reader { architecture, ..Reader::default() };
        let mut lines = text.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            let at = |why: String| format!("line {}: {why}", number + 1);
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut whole = line.to_owned();
            while whole.ends_with('\\') {
                whole.pop();
                let Some((_, next)) = lines.next() else {
                    return Err(at("the last line is continued".to_owned()));
                };
                let next = next.trim();
                // Comments between continued lines are left out, and so is what is empty.
                if next.starts_with('#') || next.is_empty() {
                    whole.push('\\');
                    continue;
                }
                whole.push(' ');
                whole.push_str(next);
            }
            let word = whole.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
            reader.instruction(&word, whole[word.len()..].trim()).map_err(at)?;
            if WITH_HEREDOCS.contains(&word.as_str()) {
                for end in heredocs(&whole) {
                    // Ends of `<<-` may be indented.
                    if !lines.any(|(_, line)| line == end || line.trim_start_matches('\t') == end) {
                        return Err(at(format!("the text up to {end} has no end")));
                    }
                }
            }
        }
        let file = Self { stages: reader.stages };
        file.check_final()?;
        Ok(file)
    }

    /// Images that are pulled for it, but for the release's own.
    pub fn images(&self) -> impl Iterator<Item = &str> {
        let names = |number: usize| self.stages[..number].iter().filter_map(|stage| stage.name.as_deref());
        self.stages.iter().enumerate().filter_map(move |(number, stage)| {
            let own = stage.base == BASE_STAGE
                || stage.base == "scratch"
                || names(number).any(|name| name == stage.base);
            (!own).then_some(stage.base.as_str())
        })
    }

    /// The final stage must come, by way of others or not, from `configs`.
    fn check_final(&self) -> Result<(), String> {
        let Some(last) = self.stages.last() else { return Ok(()) };
        let (mut base, mut before) = (last.base.as_str(), self.stages.len() - 1);
        loop {
            if base == BASE_STAGE {
                return Ok(());
            }
            let earlier = self.stages[..before].iter().rposition(|stage| stage.name.as_deref() == Some(base));
            let Some(earlier) = earlier else {
                return Err(format!("its final stage is made FROM {base}: it must be FROM {BASE_STAGE}"));
            };
            before = earlier;
            base = &self.stages[earlier].base;
        }
    }
}

#[derive(Default)]
struct Reader<'a> {
    architecture: &'a str,
    stages: Vec<Stage>,
    /// Defaults of arguments before the first FROM.
    arguments: BTreeMap<String, String>,
}

impl Reader<'_> {
    fn instruction(&mut self, word: &str, rest: &str) -> Result<(), String> {
        if !INSTRUCTIONS.contains(&word) {
            let word: String = word.chars().take(32).collect();
            return Err(format!("{word} is no instruction"));
        }
        if rest.is_empty() {
            return Err(format!("{word} lacks its argument"));
        }
        match word {
            "FROM" => self.from(rest),
            "ARG" => {
                if self.stages.is_empty()
                    && let Some((name, value)) = rest.split_once('=')
                {
                    self.arguments
                        .insert(name.trim().to_owned(), value.trim_matches(['"', '\'', ' ']).to_owned());
                }
                Ok(())
            }
            "COPY" | "ADD"
                if !rest.starts_with('[')
                    && rest.split_whitespace().filter(|word| !word.starts_with("--")).count() < 2 =>
            {
                Err(format!("{word} lacks a source or a target"))
            }
            "ONBUILD" => {
                let inner = rest.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
                if INSTRUCTIONS.contains(&inner.as_str())
                    && !matches!(inner.as_str(), "FROM" | "ONBUILD" | "MAINTAINER")
                {
                    Ok(())
                } else {
                    Err("ONBUILD has no instruction that it can have".to_owned())
                }
            }
            _ => Ok(()),
        }
    }

    fn from(&mut self, rest: &str) -> Result<(), String> {
        let mut words = rest.split_whitespace().peekable();
        while let Some(flag) = words.peek().filter(|word| word.starts_with("--")) {
            let platform =
                flag.strip_prefix("--platform=").ok_or_else(|| format!("FROM does not know {flag}"))?;
            let own = matches!(
                platform,
                "$BUILDPLATFORM" | "$TARGETPLATFORM" | "${BUILDPLATFORM}" | "${TARGETPLATFORM}"
            );
            let named = platform.rsplit_once('/').map_or(platform, |(_, architecture)| architecture);
            let fits = named == self.architecture
                || (self.architecture.is_empty() && matches!(named, "amd64" | "arm64"));
            if !own && !fits {
                return Err(format!("FROM asks for platform {platform}, which is not that of the cluster"));
            }
            words.next();
        }
        let base = self.expanded(words.next().ok_or("FROM lacks its image")?)?;
        let name = match (words.next(), words.next(), words.next()) {
            (None, ..) => None,
            (Some(word), Some(name), None) if word.eq_ignore_ascii_case("as") => Some(name.to_owned()),
            _ => return Err("FROM is followed by AS and a name, or by nothing".to_owned()),
        };
        if name.as_deref() == Some(BASE_STAGE) {
            return Err(format!("stage {BASE_STAGE} is there already"));
        }
        if name.is_some() && self.stages.iter().any(|stage| stage.name == name) {
            return Err(format!("two stages are called {}", name.unwrap_or_default()));
        }
        self.stages.push(Stage { base, name });
        Ok(())
    }

    /// An image's name with the arguments in it replaced by their defaults: builds set none.
    fn expanded(&self, base: &str) -> Result<String, String> {
        let mut text = base.to_owned();
        for (name, value) in &self.arguments {
            text = text.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value);
        }
        if text.contains('$') || text.is_empty() {
            return Err(format!("FROM {base} has an argument without a default"));
        }
        Ok(text)
    }
}

/// The lines with which the texts of an instruction end.
fn heredocs(instruction: &str) -> Vec<String> {
    let mut ends = Vec::new();
    for part in instruction.split("<<").skip(1) {
        // `<<<` is something else of the shell's.
        let part = part.strip_prefix('-').unwrap_or(part);
        let word: String = part
            .trim_start_matches(['"', '\''])
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        if word.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_') {
            ends.push(word);
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Containerfile, String> {
        Containerfile::parse(text, "amd64")
    }

    #[test]
    fn those_that_stand_on_configs() {
        for text in [
            "",
            "# nothing\n\n",
            "RUN dnf -y install strace\n",
            "FROM configs AS final\nRUN dnf -y install tcpdump && dnf clean all \\\n  # between\n\n  && ostree container commit\n",
            "from configs\nrun true",
            "FROM registry.example.com/tools:1 AS tools\nRUN make\nFROM configs AS final\nCOPY --from=tools /a /b\n",
            "FROM configs AS a\nFROM a AS b\nFROM b\n",
            "ARG BASE=configs\nFROM ${BASE} AS final\nENV A=b\n",
            "FROM --platform=linux/amd64 configs\n",
            "FROM --platform=$TARGETPLATFORM configs\n",
            "FROM configs\nRUN <<EOF\nFROM nowhere\nnonsense\nEOF\nLABEL a=b\n",
            "FROM configs\nCOPY <<-\"A\" <<'B' /dir/\none\n\tA\ntwo\nB\n",
            "FROM configs\nCOPY [\"a b\", \"c\"]\nCMD [\"x\"]\nONBUILD RUN true\n",
        ] {
            assert!(parse(text).is_ok(), "{text}: {:?}", parse(text));
        }
    }

    #[test]
    fn those_that_do_not_or_cant_be_parsed() {
        for (text, told) in [
            ("FROM scratch\n", "FROM scratch"),
            ("FROM registry.example.com/os:1\nRUN true\n", "must be FROM configs"),
            ("FROM configs AS a\nFROM other AS b\nFROM b\n", "FROM other"),
            ("FROM later AS a\nFROM configs AS later\nFROM a\n", "FROM later"),
            ("FROM $BASE\n", "without a default"),
            ("FROM --platform=linux/arm64 configs\n", "linux/arm64"),
            ("FROM --pull configs\n", "--pull"),
            ("FROM configs final\n", "AS"),
            ("FROM configs AS configs\n", "there already"),
            ("FROM configs AS a\nFROM configs AS a\n", "two stages"),
            ("FROM\n", "lacks its argument"),
            ("FROM configs\nINSTALL strace\n", "line 2: INSTALL is no instruction"),
            ("FROM configs\nRUN\n", "lacks its argument"),
            ("FROM configs\nCOPY a\n", "a source or a target"),
            ("FROM configs\nRUN true \\", "is continued"),
            ("FROM configs\nRUN <<EOF\nno end\n", "up to EOF"),
            ("FROM configs\nONBUILD FROM x\n", "ONBUILD"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn images_that_are_pulled() {
        let file = parse(
            "FROM r.example.com/a:1 AS a\nFROM scratch AS b\nFROM a AS c\nFROM configs\nCOPY --from=c / /\n",
        )
        .unwrap();
        assert_eq!(file.images().collect::<Vec<_>>(), ["r.example.com/a:1"]);
        assert!(Containerfile::parse("FROM --platform=linux/arm64 configs", "").is_ok());
        assert!(Containerfile::parse("FROM --platform=linux/s390x configs", "").is_err());
    }
}
