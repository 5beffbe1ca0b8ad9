//! The broker that tests send messages to: the archives of one version of Kafka, which Java runs.

use std::path::PathBuf;

use crate::{Missing, cache};

/// Its version, which is that in `lab/kafka/pom.xml`.
pub const VERSION: &str = "3.9.0";

/// Where its archives are kept, once they are fetched.
///
/// # Errors
/// When there is no cache.
pub fn archives() -> Result<PathBuf, Missing> {
    Ok(cache()?.join(format!("kafka-{VERSION}")))
}

/// The same.
///
/// # Errors
/// When they have not been fetched yet.
pub fn fetched() -> Result<PathBuf, Missing> {
    let dir = archives()?;
    if dir.is_dir() { Ok(dir) } else { Err(Missing::Program(dir)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_fetched_is_the_version_that_is_looked_for() {
        let project = include_str!("../../kafka/pom.xml");
        assert!(project.contains(&format!("<version>{VERSION}</version>")), "{project}");
    }
}
