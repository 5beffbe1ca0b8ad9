//! Tags of a cluster.

use super::Invalidity;

/// Checks a list of tags, separated by commas; an empty text is no tags.
pub fn check(list: &str) -> Result<(), Invalidity> {
    let word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if list.is_empty() || list.split(',').all(|tag| tag.split(' ').all(word)) {
        return Ok(());
    }
    Err(format!(
        "Invalid format for Tags: {list}. Tags should be a comma-separated list (e.g. tag1,tag2,tag3). Each tag can \
         consist of the following characters: Alphanumeric (aA-zZ, 0-9), underscore (_) and white-spaces."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        for list in ["", "tag1", "tag1,tag_2,three words here"] {
            assert_eq!(check(list), Ok(()), "{list}");
        }
        for list in ["tag1,", " tag", "tag ", "a  b", "a,,b", "a-b", "ä", "a, b"] {
            assert!(
                check(list).unwrap_err().starts_with(&format!("Invalid format for Tags: {list}. Tags")),
                "{list}"
            );
        }
    }
}
