//! The file by which container tools know registries, and mirrors of them.

/// Whether a `registries.conf` says anything of registries that stand in for others.
pub(crate) fn names_registries(text: &str) -> bool {
    text.lines()
        .any(|line| line.split('#').next().unwrap_or_default().replace(' ', "").trim() == "[[registry]]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries() {
        for (text, names) in [
            ("unqualified-search-registries = ['a']\n", false),
            ("# [[registry]]\n", false),
            ("[[registry]]\nlocation = 'quay.io'\n", true),
            ("  [[ registry ]] # x\n", true),
        ] {
            assert_eq!(names_registries(text), names, "{text}");
        }
    }
}
