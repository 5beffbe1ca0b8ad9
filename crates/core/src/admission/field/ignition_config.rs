//! Ignition configs that a user gives.

use assisted_base::version::{Base, Version};
use serde_json::Value;

use super::Invalidity;

/// Checks that a text is an Ignition config of a version that hosts understand.
pub fn check(text: &str) -> Result<(), Invalidity> {
    let config: Value =
        serde_json::from_str(text).map_err(|error| format!("config is not valid: {error}"))?;
    let Some(config) = config.as_object() else {
        return Err("config is not valid: not a JSON object".to_owned());
    };
    let version = config.get("ignition").and_then(|ignition| ignition.get("version")).and_then(Value::as_str);
    let version = version.ok_or("config is not valid: missing ignition.version")?;
    let known = Version::parse(version)
        .is_some_and(|version| version.base.0 == 3 && version.base <= Base(3, 6) && version.patch.is_some());
    if !known {
        return Err(format!("config is not valid: unsupported config version {version:?}"));
    }
    for (member, value) in config {
        let known = match member.as_str() {
            "ignition" | "storage" | "systemd" | "passwd" | "kernelArguments" => {
                value.is_object() || value.is_null()
            }
            _ => true,
        };
        if !known {
            return Err(format!("config is not valid: {member} is not an object"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configs() {
        assert_eq!(check(r#"{"ignition":{"version":"3.2.0"},"storage":{"files":[]}}"#), Ok(()));
        for text in [
            "",
            "[]",
            "{}",
            r#"{"ignition":{"version":"2.2.0"}}"#,
            r#"{"ignition":{"version":"3.9.0"}}"#,
            r#"{"ignition":{"version":3}}"#,
            r#"{"ignition":{"version":"3.2.0"},"storage":[]}"#,
        ] {
            assert!(check(text).unwrap_err().starts_with("config is not valid: "), "{text}");
        }
    }
}
