//! Which web pages may read answers in a browser.

/// Origins that are let in; one `*` in an origin stands for any text.
#[derive(Clone, Debug, Default)]
pub struct Origins(Vec<String>);

impl Origins {
    /// Takes a list as it is written in settings: blanks around an origin, and empty ones, count for nothing.
    pub fn new<'a>(list: impl IntoIterator<Item = &'a str>) -> Self {
        let origins = list.into_iter().map(str::trim).filter(|origin| !origin.is_empty());
        Self(origins.map(str::to_owned).collect())
    }

    /// Whether there are none: then answers say nothing about origins at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether pages of an origin, `https://ui.example.com`, are let in.
    pub fn admit(&self, origin: &str) -> bool {
        self.0.iter().any(|allowed| matches(allowed, origin))
    }
}

fn matches(allowed: &str, origin: &str) -> bool {
    match allowed.split_once('*') {
        Some((head, tail)) => {
            origin.len() >= head.len() + tail.len() && origin.starts_with(head) && origin.ends_with(tail)
        }
        None => allowed.eq_ignore_ascii_case(origin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins() {
        let admit = |list: &str, origin| Origins::new(list.split(',')).admit(origin);
        assert!(admit("*", "https://a"));
        let list = " https://a.example.com,https://*.example.org ,,";
        for origin in ["https://a.example.com", "https://A.example.com", "https://x.example.org"] {
            assert!(admit(list, origin), "{origin}");
        }
        // What a star stands for and what surrounds it do not overlap.
        for origin in
            ["https://b.example.com", "https://.example.com", "https://example.org", "https://a", ""]
        {
            assert!(!admit(list, origin), "{origin}");
        }
        assert!(!admit("https://ab*ba", "https://aba"));
        assert!(Origins::new(" ,".split(',')).is_empty());
    }
}
