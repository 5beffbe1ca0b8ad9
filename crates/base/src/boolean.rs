//! Truth values as variables, flags and annotations spell them.

/// Reads a truth value; `None` when the text is neither true nor false.
pub fn parse(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_or_neither() {
        assert!(["1", "t", "T", "true", "TRUE", "True"].iter().all(|text| parse(text) == Some(true)));
        assert!(["0", "f", "F", "false", "FALSE", "False"].iter().all(|text| parse(text) == Some(false)));
        assert!(["", "yes", "tRUE", " 1", "2"].iter().all(|text| parse(text).is_none()));
    }
}
