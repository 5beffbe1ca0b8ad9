//! What becomes of an operator that a lab's cluster subscribes to. The lab decides it when it makes a release: an image of the release
//! whose name says so, and that nobody runs, tells the cluster.

/// How the installation of an operator ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Its ClusterServiceVersion succeeds.
    #[default]
    Succeeds,
    /// Its ClusterServiceVersion fails.
    Fails,
    /// No catalogue has its package: the subscription brings nothing.
    Missing,
}

impl Outcome {
    /// What an image's name begins with that tells of it; the package follows.
    const fn prefix(self) -> Option<&'static str> {
        match self {
            Self::Succeeds => None,
            Self::Fails => Some("olm-fails-"),
            Self::Missing => Some("olm-lacks-"),
        }
    }

    /// The name of the image of a release that tells of this outcome of a package; none tells of success.
    pub fn image_name(self, package: &str) -> Option<String> {
        self.prefix().map(|prefix| format!("{prefix}{package}"))
    }

    /// The outcome of a package, by the names of a release's images.
    pub fn of<'a>(package: &str, images: impl IntoIterator<Item = &'a str>) -> Self {
        let tells = |outcome: &Self, image: &str| {
            outcome.prefix().and_then(|prefix| image.strip_prefix(prefix)) == Some(package)
        };
        let outcome_of = |image| [Self::Fails, Self::Missing].into_iter().find(|each| tells(each, image));
        images.into_iter().find_map(outcome_of).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_tells_the_outcome_of_each_package() {
        assert_eq!(Outcome::Succeeds.image_name("nfd"), None);
        let images =
            [Outcome::Fails.image_name("nfd").unwrap(), Outcome::Missing.image_name("oadp").unwrap()];
        let of = |package| Outcome::of(package, images.iter().map(String::as_str));
        assert_eq!(of("nfd"), Outcome::Fails);
        assert_eq!(of("oadp"), Outcome::Missing);
        assert_eq!(of("nfd-other"), Outcome::Succeeds);
    }
}
