//! What an ID token says, whether it is for us, and which person of ours that is.

use assisted_base::hex;
use assisted_config::Oidc as Settings;
use assisted_wire::identity::PersonRole;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::Person;
use crate::digest;

/// Whose clock is a little ahead or behind, in seconds.
const LEEWAY: f64 = 60.0;

/// All claims, because settings name some of them.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Claims(Map<String, Value>);

/// What a token has to be.
pub(super) struct Wanted<'a> {
    pub(super) settings: &'a Settings,
    /// What was asked with; `None`: nothing was.
    pub(super) nonce: Option<&'a str>,
    pub(super) now: Timestamp,
}

impl Claims {
    fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether it is the answer to our question, and current; the error is for the log.
    pub(super) fn check(&self, wanted: &Wanted<'_>) -> Result<(), String> {
        let Settings { issuer, client_id, .. } = wanted.settings;
        if self.text("iss").trim_end_matches('/') != issuer.trim_end_matches('/') {
            return Err("the ID token is of another issuer".to_owned());
        }
        let audience: Vec<&str> = match self.0.get("aud") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if !audience.contains(&client_id.as_str()) {
            return Err("the ID token is for another client".to_owned());
        }
        let party = self.0.get("azp").map(|party| party.as_str().unwrap_or_default());
        if party.map_or(audience.len() > 1, |party| party != client_id) {
            return Err("the ID token was made for another client".to_owned());
        }
        self.check_times(wanted.now)?;
        if let Some(nonce) = wanted.nonce {
            // Hashes are compared, so that it takes as long for every text.
            if digest::of(self.text("nonce")) != digest::of(nonce) {
                return Err("the ID token answers another question: its nonce differs".to_owned());
            }
        }
        if self.text("sub").is_empty() {
            return Err("the ID token is about nobody".to_owned());
        }
        Ok(())
    }

    fn check_times(&self, now: Timestamp) -> Result<(), String> {
        #[allow(clippy::cast_precision_loss, reason = "seconds of our age are exact")]
        let now = now.as_second() as f64;
        let at = |name: &str| self.0.get(name).and_then(Value::as_f64);
        let Some(end) = at("exp") else { return Err("the ID token never ends".to_owned()) };
        if end + LEEWAY <= now {
            return Err("the ID token has expired".to_owned());
        }
        if ["iat", "nbf"].into_iter().filter_map(at).any(|begin| begin - LEEWAY > now) {
            return Err("the ID token is of the future: the clocks of the provider and this service differ"
                .to_owned());
        }
        Ok(())
    }

    /// Whether something is missing by which people are known here: a provider may tell it elsewhere.
    pub(super) fn is_short(&self, settings: &Settings) -> bool {
        let organisation = settings.organisation_claim.as_str();
        self.text(&settings.name_claim).is_empty()
            || self.roles(settings).is_none()
            || (!organisation.is_empty() && self.text(organisation).is_empty())
    }

    /// Adds what the provider tells elsewhere of the same person; what is known already stays.
    pub(super) fn add(&mut self, more: Self) -> Result<(), String> {
        if more.text("sub") != self.text("sub") {
            return Err("what the provider tells beside the ID token is about somebody else".to_owned());
        }
        for (name, value) in more.0 {
            self.0.entry(name).or_insert(value);
        }
        Ok(())
    }

    /// The person that it is here.
    pub(super) fn person(&self, wanted: &Wanted<'_>) -> Result<Person, String> {
        let settings = wanted.settings;
        let name = self.text(&settings.name_claim);
        if name.is_empty() {
            return Err(format!(
                "the ID token has no claim {:?}, by which people are named; OIDC_NAME_CLAIM names another",
                settings.name_claim
            ));
        }
        let role = self.role(settings).ok_or_else(|| {
            format!(
                "{name:?} has no role: no value of the claim {:?} is in OIDC_ADMINS, OIDC_EDITORS or OIDC_VIEWERS",
                settings.roles_claim
            )
        })?;
        let organisation = match settings.organisation_claim.as_str() {
            "" => "",
            claim => self.text(claim),
        };
        Ok(Person {
            subject: subject(self.text("iss"), self.text("sub")),
            name: name.to_owned(),
            email: self.text("email").to_owned(),
            organisation: organisation.to_owned(),
            role,
        })
    }

    /// The claim whose values give roles. It may stand within others: `realm_access.roles`.
    fn roles(&self, settings: &Settings) -> Option<&Value> {
        let mut parts = settings.roles_claim.split('.');
        // A claim whose own name has dots wins.
        let direct = self.0.get(&settings.roles_claim);
        direct.or_else(|| {
            let first = self.0.get(parts.next()?)?;
            parts.try_fold(first, |value, part| value.get(part))
        })
    }

    /// The highest role that a value gives.
    fn role(&self, settings: &Settings) -> Option<PersonRole> {
        let values: Vec<&str> = match self.roles(settings) {
            Some(Value::String(text)) => text.split_whitespace().collect(),
            Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let any =
            |wanted: &[String]| wanted.iter().any(|value| value == "*" || values.contains(&value.as_str()));
        [
            (PersonRole::Admin, &settings.admins),
            (PersonRole::Editor, &settings.editors),
            (PersonRole::Viewer, &settings.viewers),
        ]
        .into_iter()
        .find(|(_, wanted)| any(wanted))
        .map(|(role, _)| role)
    }
}

/// How somebody is known again: of one issuer, one subject.
fn subject(issuer: &str, subject: &str) -> String {
    let hash = Sha256::new()
        .chain_update(issuer.trim_end_matches('/'))
        .chain_update([0])
        .chain_update(subject)
        .finalize();
    format!("oidc:{}", hex::encode(&hash))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings() -> Settings {
        Settings {
            issuer: "https://id.example.com/".to_owned(),
            client_id: "assisted".to_owned(),
            roles_claim: "realm_access.roles".to_owned(),
            organisation_claim: "org".to_owned(),
            admins: vec!["ops".to_owned()],
            editors: vec!["dev".to_owned()],
            viewers: vec!["*".to_owned()],
            ..Settings::default()
        }
    }

    fn claims(change: &Value) -> Claims {
        let mut all = json!({
            "iss": "https://id.example.com", "aud": "assisted", "sub": "1", "exp": 1000, "nonce": "n",
            "preferred_username": "ann", "email": "ann@example.com", "org": "blue",
        });
        for (name, value) in change.as_object().unwrap() {
            all[name] = value.clone();
        }
        serde_json::from_value(all).unwrap()
    }

    #[test]
    fn a_token_is_for_us_and_current() {
        let (settings, now) = (settings(), Timestamp::from_second(1000).unwrap());
        let wanted = Wanted { settings: &settings, nonce: Some("n"), now };
        for (change, told) in [
            (json!({}), None),
            (json!({"aud": ["x", "assisted"], "azp": "assisted"}), None),
            (json!({"exp": 941, "iat": 1059.5, "nbf": 1059}), None),
            (json!({"iss": "https://id.example.com.evil"}), Some("another issuer")),
            (json!({"aud": "x"}), Some("for another client")),
            (json!({"aud": null}), Some("for another client")),
            (json!({"aud": ["x", "assisted"]}), Some("made for another client")),
            (json!({"azp": "x"}), Some("made for another client")),
            (json!({"azp": 7}), Some("made for another client")),
            (json!({"exp": 940}), Some("expired")),
            (json!({"exp": null}), Some("never ends")),
            (json!({"exp": "2000"}), Some("never ends")),
            (json!({"iat": 1061}), Some("future")),
            (json!({"nbf": 1061}), Some("future")),
            (json!({"nonce": "m"}), Some("nonce")),
            (json!({"nonce": null}), Some("nonce")),
            (json!({"sub": ""}), Some("nobody")),
        ] {
            let found = claims(&change).check(&wanted);
            assert_eq!(found.as_ref().err().is_some(), told.is_some(), "{change} {found:?}");
            assert!(told.is_none_or(|told| found.unwrap_err().contains(told)), "{change}");
        }
    }

    #[test]
    fn values_of_a_claim_give_roles() {
        let mut settings = settings();
        let of = |settings: &Settings, change: Value| {
            let wanted = Wanted { settings, nonce: None, now: Timestamp::UNIX_EPOCH };
            claims(&change).person(&wanted).map(|person| person.role)
        };
        let within = |roles: Value| json!({"realm_access": {"roles": roles}});
        assert_eq!(of(&settings, within(json!(["dev", "ops"]))), Ok(PersonRole::Admin));
        assert_eq!(of(&settings, within(json!("x dev"))), Ok(PersonRole::Editor));
        assert_eq!(of(&settings, within(json!(["operations"]))), Ok(PersonRole::Viewer));
        assert_eq!(of(&settings, json!({"realm_access.roles": ["ops"]})), Ok(PersonRole::Admin));
        settings.viewers.clear();
        assert!(of(&settings, within(json!(["operations"]))).unwrap_err().contains("no role"));
        assert!(of(&settings, json!({"preferred_username": null})).unwrap_err().contains("OIDC_NAME_CLAIM"));
    }

    #[test]
    fn what_an_id_token_lacks_is_added_of_the_same_person() {
        let settings = settings();
        let full = json!({"realm_access": {"roles": ["dev"]}});
        assert!(!claims(&full).is_short(&settings));
        for claim in ["realm_access", "preferred_username", "org"] {
            let mut short = full.clone();
            short[claim] = Value::Null;
            assert!(claims(&short).is_short(&settings), "{claim}");
        }
        let mut short = claims(&json!({}));
        let more = |subject: &str| -> Claims {
            let mut more = full.clone();
            more["sub"] = json!(subject);
            more["email"] = json!("other@example.com");
            serde_json::from_value(more).unwrap()
        };
        for other in ["2", ""] {
            assert!(short.add(more(other)).unwrap_err().contains("somebody else"));
            assert!(short.is_short(&settings));
        }
        short.add(more("1")).unwrap();
        assert!(!short.is_short(&settings));
        assert_eq!(short.text("email"), "ann@example.com");
    }

    #[test]
    fn somebody_is_one_subject_of_one_issuer() {
        let one = subject("https://a", "1");
        assert_eq!(subject("https://a/", "1"), one);
        assert!(one != subject("https://a", "2") && one != subject("https://b", "1"));
    }
}
