//! Version numbers. Rules compare only major and minor; choosing the newest compares the whole.

use std::cmp::Ordering;
use std::fmt;

/// Suffix of versions whose release image serves several architectures.
pub const MULTI: &str = "-multi";

/// Major and minor: what rules compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Base(pub u64, pub u64);

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// A version: `major.minor`, `major.minor.patch`, each with an optional `-suffix`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub base: Base,
    /// `None` in the short form.
    pub patch: Option<u64>,
    /// What follows the first `-`; empty without one.
    pub suffix: String,
}

impl Version {
    /// Parses a version; `None` unless it is one.
    pub fn parse(text: &str) -> Option<Self> {
        let (numbers, suffix) = text.split_once('-').unwrap_or((text, ""));
        if suffix.is_empty() && text.contains('-') {
            return None;
        }
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
        if !suffix.chars().all(allowed) {
            return None;
        }
        let numbers: Vec<u64> = numbers.split('.').map(number).collect::<Option<_>>()?;
        let (base, patch) = match *numbers {
            [major, minor] => (Base(major, minor), None),
            [major, minor, patch] => (Base(major, minor), Some(patch)),
            _ => return None,
        };
        Some(Self { base, patch, suffix: suffix.to_owned() })
    }

    /// What marks the version as not final; empty for a final one. That a release serves several architectures is no
    /// such mark.
    pub fn prerelease(&self) -> &str {
        match self.suffix.strip_suffix("multi") {
            Some("") => "",
            Some(rest) => rest.strip_suffix('-').unwrap_or(&self.suffix),
            None => &self.suffix,
        }
    }

    /// Whether the version is not final.
    pub fn is_beta(&self) -> bool {
        !self.prerelease().is_empty()
    }
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let number = |version: &Self| (version.base, version.patch.unwrap_or(0));
        let suffix = || match (self.prerelease(), other.prerelease()) {
            ("", "") => Ordering::Equal,
            ("", _) => Ordering::Greater,
            (_, "") => Ordering::Less,
            (a, b) => match (semver::Prerelease::new(a), semver::Prerelease::new(b)) {
                (Ok(a), Ok(b)) => a.cmp(&b),
                _ => a.cmp(b),
            },
        };
        number(self).cmp(&number(other)).then_with(suffix).then_with(|| self.suffix.cmp(&other.suffix))
    }
}

/// Major and minor of a version; `None` when it can't be parsed.
pub fn base(version: &str) -> Option<Base> {
    Version::parse(version).map(|version| version.base)
}

/// Whether the version is at least `major.minor`; one that can't be parsed is not.
pub fn at_least(version: &str, major: u64, minor: u64) -> bool {
    base(version).is_some_and(|base| base >= Base(major, minor))
}

/// Whether the version is below `major.minor`; one that can't be parsed is not.
pub fn below(version: &str, major: u64, minor: u64) -> bool {
    base(version).is_some_and(|base| base < Base(major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        for (text, base, patch, prerelease) in [
            ("4.22", Base(4, 22), None, ""),
            ("4.22.9", Base(4, 22), Some(9), ""),
            ("4.22-multi", Base(4, 22), None, ""),
            ("4.22.9-multi", Base(4, 22), Some(9), ""),
            ("5.0.0-ec.5", Base(5, 0), Some(0), "ec.5"),
            ("5.0.0-ec.5-multi", Base(5, 0), Some(0), "ec.5"),
        ] {
            let version = Version::parse(text).unwrap();
            assert_eq!(
                (version.base, version.patch, version.prerelease()),
                (base, patch, prerelease),
                "{text}"
            );
        }
    }

    #[test]
    fn not_versions() {
        for text in
            ["", "4", "4.", "x.y", "4.22.9.1", "4.-1", "+4.2", "4.22-", "4.22-a b", "99999999999999999999.1"]
        {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }

    #[test]
    fn order() {
        let sorted = ["4.9.59", "4.10.67", "4.22.9", "5.0.0-ec.5", "5.0.0-ec.10", "5.0.0-rc.1", "5.0.0"];
        let mut versions: Vec<_> = sorted.iter().rev().map(|text| Version::parse(text).unwrap()).collect();
        versions.sort();
        let expected: Vec<_> = sorted.iter().map(|text| Version::parse(text).unwrap()).collect();
        assert_eq!(versions, expected);
    }

    #[test]
    fn rules_compare_major_and_minor() {
        assert!(at_least("4.12.0-ec.1", 4, 12));
        assert!(below("4.9.99", 4, 10));
        assert!(!at_least("nonsense", 0, 0) && !below("nonsense", 99, 0));
    }
}
