//! Pages for people: whether one is asked for, and how a text stands in one.

/// Whether a browser opens an address, by the values of `Accept`: programs ask for no page.
pub fn is_wanted<'a>(accept: impl IntoIterator<Item = &'a str>) -> bool {
    let mut kinds = accept.into_iter().flat_map(|value| value.split(','));
    kinds.any(|kind| kind.split(';').next().unwrap_or_default().trim() == "text/html")
}

/// A text as a page shows it, also within an attribute in double quotes.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_ask_for_pages() {
        assert!(is_wanted(["text/html,application/xhtml+xml,*/*;q=0.8"]));
        assert!(is_wanted(["application/json", "image/png, text/html;q=0.5"]));
        assert!(!is_wanted(["*/*"]) && !is_wanted(["application/json, text/htmlx"]) && !is_wanted([]));
    }

    #[test]
    fn texts_are_no_markup() {
        assert_eq!(escape("<a b=\"c\"> & &amp;"), "&lt;a b=&quot;c&quot;&gt; &amp; &amp;amp;");
    }
}
