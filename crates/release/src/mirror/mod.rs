//! Mirrors: where else an image may be read.
//!
//! Rules come from a `registries.conf`, or from the objects with which clusters are told of mirrors. The rule with the longest
//! prefix decides; its mirrors are asked in their order, then the source itself.

mod image_sets;
mod registries_conf;

use crate::reference::{Reference, ReferenceError, check_registry};

/// Why rules for mirrors can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MirrorError {
    #[error("registries.conf can't be read: {0}")]
    RegistriesConf(String),
    #[error("registries.conf is of the old form, with [registries.…] tables: write [[registry]] tables")]
    OldForm,
    #[error("the mirror objects can't be read: {0}")]
    ImageSets(String),
    #[error("{place:?} is no place of images: {source}")]
    Place { place: String, source: ReferenceError },
    #[error("{0:?} names one image: write the place of images, without tag and digest")]
    Prefix(String),
}

/// Which images are read from a mirror.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pull {
    All,
    ByDigest,
    ByTag,
}

impl Pull {
    fn covers(self, reference: &Reference) -> bool {
        match self {
            Self::All => true,
            Self::ByDigest => reference.digest.is_some(),
            Self::ByTag => reference.digest.is_none(),
        }
    }
}

/// A place that has copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// Registry and path that stand in place of the prefix.
    pub location: String,
    /// Whether its certificate is not checked, and plain HTTP is taken too.
    pub insecure: bool,
    pub pull: Pull,
}

/// What is done about images whose names begin with a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// A registry, with or without a path; or `*.` and a domain, for all registries in it.
    pub prefix: String,
    /// What stands in place of the prefix when the source itself is asked.
    pub location: Option<String>,
    /// Whether the source itself is not asked.
    pub blocked: bool,
    pub insecure: bool,
    pub mirrors: Vec<Mirror>,
}

/// All rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mirrors {
    rules: Vec<Rule>,
}

/// One place where an image is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub reference: Reference,
    pub insecure: bool,
}

impl Mirrors {
    /// Rules that a caller made; those with one prefix become one.
    ///
    /// # Errors
    ///
    /// [`MirrorError::Prefix`] or [`MirrorError::Place`] for a prefix or location that is none.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Result<Self, MirrorError> {
        let mut all = Self::default();
        for rule in rules {
            check_prefix(&rule.prefix)?;
            for place in rule.mirrors.iter().map(|mirror| &mirror.location).chain(&rule.location) {
                check_place(place)?;
            }
            all.add(rule);
        }
        Ok(all)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules, in their order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Adds the rules of another set.
    pub fn extend(&mut self, other: Self) {
        other.rules.into_iter().for_each(|rule| self.add(rule));
    }

    fn add(&mut self, rule: Rule) {
        let Some(known) = self.rules.iter_mut().find(|known| known.prefix == rule.prefix) else {
            self.rules.push(rule);
            return;
        };
        known.blocked |= rule.blocked;
        known.insecure |= rule.insecure;
        known.location = rule.location.or(known.location.take());
        for mirror in rule.mirrors {
            if !known.mirrors.contains(&mirror) {
                known.mirrors.push(mirror);
            }
        }
    }

    /// Where an image is asked for, in this order. Empty when its source is blocked and no mirror takes it.
    pub fn sources(&self, reference: &Reference) -> Vec<Source> {
        let Some(decided) = self.decided(reference) else {
            return vec![Source { reference: reference.clone(), insecure: false }];
        };
        let mut sources = decided.copies(|mirror| mirror.pull.covers(reference));
        if !decided.rule.blocked {
            sources.extend(decided.own());
        }
        sources
    }

    /// The mirrors that are asked for an image, in this order, without its own source; empty where no rule names any.
    pub fn copies(&self, reference: &Reference) -> Vec<Source> {
        self.decided(reference)
            .map_or_else(Vec::new, |decided| decided.copies(|mirror| mirror.pull.covers(reference)))
    }

    /// Where mirrors keep what has the name of an image, whether they are asked for it by that name or not.
    pub fn all_copies(&self, reference: &Reference) -> Vec<Source> {
        self.decided(reference).map_or_else(Vec::new, |decided| decided.copies(|_| true))
    }

    /// Where an image is when no mirror is asked; whether it is blocked says nothing here.
    pub fn own(&self, reference: &Reference) -> Source {
        let own = self.decided(reference).and_then(|decided| decided.own());
        own.unwrap_or_else(|| Source { reference: reference.clone(), insecure: false })
    }

    /// The rule that decides about an image.
    fn decided<'a>(&'a self, reference: &'a Reference) -> Option<Decided<'a>> {
        let whole = reference.repository.to_string();
        let matching = self.rules.iter().filter_map(|rule| Some((rule, matched(&rule.prefix, &whole)?)));
        let (rule, length) = matching.max_by_key(|(rule, _)| rule.prefix.len())?;
        let rest = whole.get(length..).unwrap_or_default().to_owned();
        Some(Decided { rule, reference, rest })
    }

    /// Sources and their mirrors for images that are named by digest, as install configs want them. What they can't say is
    /// left out: wildcards, and sources without mirrors.
    pub fn by_digest(&self) -> Vec<(String, Vec<String>)> {
        let told = |rule: &Rule| {
            let mirrors = rule.mirrors.iter().filter(|mirror| mirror.pull != Pull::ByTag);
            let mirrors: Vec<_> = mirrors.map(|mirror| mirror.location.clone()).collect();
            (rule.location.clone().unwrap_or_else(|| rule.prefix.clone()), mirrors)
        };
        let all = self.rules.iter().map(told);
        all.filter(|(source, mirrors)| !mirrors.is_empty() && !source.starts_with("*.")).collect()
    }
}

/// A rule about an image.
struct Decided<'a> {
    rule: &'a Rule,
    reference: &'a Reference,
    /// What of the image's name stands behind the prefix.
    rest: String,
}

impl Decided<'_> {
    fn copies(&self, takes: impl Fn(&Mirror) -> bool) -> Vec<Source> {
        let taking = self.rule.mirrors.iter().filter(|mirror| takes(mirror));
        taking.filter_map(|mirror| self.moved(&mirror.location, mirror.insecure)).collect()
    }

    fn own(&self) -> Option<Source> {
        match &self.rule.location {
            Some(location) => self.moved(location, self.rule.insecure),
            None => Some(Source { reference: self.reference.clone(), insecure: self.rule.insecure }),
        }
    }

    fn moved(&self, location: &str, insecure: bool) -> Option<Source> {
        let repository = format!("{location}{}", self.rest).parse::<Reference>().ok()?.repository;
        Some(Source { reference: Reference { repository, ..self.reference.clone() }, insecure })
    }
}

/// How much of an image's name a prefix covers, if it covers it.
fn matched(prefix: &str, whole: &str) -> Option<usize> {
    if let Some(domain) = prefix.strip_prefix('*') {
        let registry = whole.split('/').next().unwrap_or_default();
        return (registry.ends_with(domain) && registry.len() > domain.len()).then_some(registry.len());
    }
    let rest = whole.strip_prefix(prefix)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(prefix.len())
}

fn check_place(place: &str) -> Result<(), MirrorError> {
    let failed = |source| MirrorError::Place { place: place.to_owned(), source };
    if !place.contains('/') {
        return format!("{place}/x").parse::<Reference>().map(|_| ()).map_err(failed);
    }
    let read: Reference = place.parse().map_err(failed)?;
    // A place is no single image.
    if read.tag.is_some() || read.digest.is_some() {
        return Err(MirrorError::Prefix(place.to_owned()));
    }
    Ok(())
}

fn check_prefix(prefix: &str) -> Result<(), MirrorError> {
    match prefix.strip_prefix("*.") {
        Some(domain) => check_registry(domain)
            .map(|_| ())
            .map_err(|source| MirrorError::Place { place: prefix.to_owned(), source }),
        None => check_place(prefix),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "@sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    fn mirror(location: &str, pull: Pull) -> Mirror {
        Mirror { location: location.to_owned(), insecure: false, pull }
    }

    fn rule(prefix: &str, mirrors: Vec<Mirror>) -> Rule {
        Rule { prefix: prefix.to_owned(), location: None, blocked: false, insecure: false, mirrors }
    }

    fn candidates(mirrors: &Mirrors, image: &str) -> Vec<String> {
        mirrors.sources(&image.parse().unwrap()).iter().map(|source| source.reference.to_string()).collect()
    }

    #[test]
    fn the_longest_prefix_decides() {
        let mirrors = Mirrors::new([
            rule("quay.io", vec![mirror("m:1/all", Pull::All)]),
            rule("quay.io/a", vec![mirror("m:2", Pull::All), mirror("m:3/x", Pull::All)]),
            rule("*.io", vec![mirror("m:4", Pull::All)]),
        ])
        .unwrap();
        assert_eq!(candidates(&mirrors, "quay.io/a/b:t"), ["m:2/b:t", "m:3/x/b:t", "quay.io/a/b:t"]);
        assert_eq!(candidates(&mirrors, "quay.io/ab"), ["m:1/all/ab", "quay.io/ab"]);
        assert_eq!(candidates(&mirrors, "ghcr.io/x"), ["m:4/x", "ghcr.io/x"]);
        assert_eq!(candidates(&mirrors, "other.com/x"), ["other.com/x"]);
    }

    #[test]
    fn by_digest_and_by_tag() {
        let mirrors = Mirrors::new([rule(
            "quay.io/a",
            vec![mirror("m.d/a", Pull::ByDigest), mirror("m.t/a", Pull::ByTag)],
        )])
        .unwrap();
        assert_eq!(candidates(&mirrors, "quay.io/a:t"), ["m.t/a:t", "quay.io/a:t"]);
        let pinned = format!("quay.io/a{DIGEST}");
        assert_eq!(candidates(&mirrors, &pinned), [format!("m.d/a{DIGEST}"), pinned]);
        assert_eq!(mirrors.by_digest(), [("quay.io/a".to_owned(), vec!["m.d/a".to_owned()])]);
        let names = |sources: Vec<Source>| -> Vec<_> {
            sources.iter().map(|source| source.reference.to_string()).collect()
        };
        let (tagged, other) = ("quay.io/a:t".parse().unwrap(), "quay.io/b:t".parse().unwrap());
        assert_eq!(names(mirrors.copies(&tagged)), ["m.t/a:t"]);
        assert_eq!(names(mirrors.all_copies(&tagged)), ["m.d/a:t", "m.t/a:t"]);
        assert!(mirrors.copies(&other).is_empty() && mirrors.own(&other).reference == other);
    }

    #[test]
    fn a_blocked_source_is_not_asked() {
        let blocked = Rule { blocked: true, ..rule("quay.io", vec![mirror("m.d", Pull::ByDigest)]) };
        let mirrors = Mirrors::new([blocked]).unwrap();
        assert!(candidates(&mirrors, "quay.io/a:t").is_empty());
        assert_eq!(candidates(&mirrors, &format!("quay.io/a{DIGEST}")), [format!("m.d/a{DIGEST}")]);
    }

    #[test]
    fn a_source_may_be_elsewhere() {
        let moved =
            Rule { location: Some("new.io/b".to_owned()), insecure: true, ..rule("old.io/a", vec![]) };
        let mirrors = Mirrors::new([moved]).unwrap();
        let sources = mirrors.sources(&"old.io/a/c:t".parse().unwrap());
        assert_eq!((sources[0].reference.to_string().as_str(), sources[0].insecure), ("new.io/b/c:t", true));
    }

    #[test]
    fn rules_with_one_prefix_become_one() {
        let one = || rule("quay.io", vec![mirror("m.a", Pull::ByDigest)]);
        let mut mirrors = Mirrors::new([one()]).unwrap();
        mirrors.extend(Mirrors::new([one(), rule("quay.io", vec![mirror("m.b", Pull::ByDigest)])]).unwrap());
        assert_eq!(mirrors.by_digest(), [("quay.io".to_owned(), vec!["m.a".to_owned(), "m.b".to_owned()])]);
    }

    #[test]
    fn what_is_no_place() {
        for prefix in ["", "quay.io/", "quay.io/a:t", "*.io/a", "*", "a b", "https://quay.io"] {
            assert!(Mirrors::new([rule(prefix, vec![])]).is_err(), "{prefix}");
        }
        assert!(Mirrors::new([rule("quay.io", vec![mirror("m/x:t", Pull::All)])]).is_err());
    }
}
