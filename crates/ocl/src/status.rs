//! `status.json`: how far a build is, written anew after each transition and read after a restart (ocl-day1 §B5.1).

use assisted_wire::on_cluster_layering::{BuildState, LayeringErrorCode, Pool};
use assisted_wire::time::DateTime;
use serde::{Deserialize, Serialize};

/// How far the build of one pool's image is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    pub pool: Pool,
    #[serde(with = "state_word")]
    pub state: BuildState,
    /// Counted from 1; 0 before the first.
    pub attempt: u32,
    pub step: Option<String>,
    pub percent: u8,
    pub started_at: Option<DateTime>,
    pub updated_at: Option<DateTime>,
    pub rendered_machine_config: Option<String>,
    pub base_image: Option<String>,
    /// By digest, as nodes name it.
    pub image: Option<String>,
    pub digest: Option<String>,
    pub error: Option<Failure>,
}

/// Why a build failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    pub code: LayeringErrorCode,
    /// For people to read; holds no secret.
    pub reason: String,
    /// Whether the same may succeed when it is tried again.
    pub retriable: bool,
    /// Where it failed.
    #[serde(with = "state_word")]
    pub state: BuildState,
}

/// States in the file are written like names of types, `PullingBase`; on the wire they are `pulling-base`.
mod state_word {
    use assisted_wire::on_cluster_layering::BuildState;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(state: &BuildState, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&word(*state))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BuildState, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut all = BuildState::ALL.iter().copied();
        all.find(|state| word(*state) == text)
            .ok_or_else(|| serde::de::Error::custom(format!("{text:?} is no state of a build")))
    }

    pub(super) fn word(state: BuildState) -> String {
        let capital = |part: &str| {
            let mut letters = part.chars();
            letters
                .next()
                .map(|first| first.to_ascii_uppercase())
                .into_iter()
                .chain(letters)
                .collect::<String>()
        };
        state.as_str().split('-').map(capital).collect()
    }
}

/// Whether something that failed so is worth another try by itself (ocl-day1 §B12). A refused log-in never is, whatever the code.
pub const fn is_retriable(code: LayeringErrorCode) -> bool {
    use LayeringErrorCode::{Adopt, BuildInfra, Deploy, Preflight, Pull, Push, Registry};
    matches!(code, Preflight | Registry | Pull | BuildInfra | Push | Deploy | Adopt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_as_it_was_written() {
        let status = Status {
            pool: Pool::Master,
            state: BuildState::PullingBase,
            attempt: 1,
            step: Some("STEP 7/12: RUN dnf".to_owned()),
            percent: 58,
            started_at: None,
            updated_at: None,
            rendered_machine_config: None,
            base_image: None,
            image: None,
            digest: None,
            error: Some(Failure {
                code: LayeringErrorCode::BuildUser,
                reason: "exit code 1".to_owned(),
                retriable: false,
                state: BuildState::StartingRegistry,
            }),
        };
        let text = serde_json::to_string(&status).unwrap();
        assert!(text.contains(r#""state":"PullingBase""#), "{text}");
        assert!(text.contains(r#""code":"build-user""#), "{text}");
        assert_eq!(serde_json::from_str::<Status>(&text).unwrap(), status);
        let odd = text.replace("PullingBase", "pulling-base");
        assert!(serde_json::from_str::<Status>(&odd).is_err());
    }

    #[test]
    fn each_state_has_a_word_of_its_own() {
        let words: std::collections::BTreeSet<_> =
            BuildState::ALL.iter().map(|state| state_word::word(*state)).collect();
        assert_eq!(words.len(), 13);
        assert!(words.contains("WaitingForRender") && words.contains("Ready"), "{words:?}");
    }
}
