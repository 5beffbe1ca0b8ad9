//! Keys of others that verify tokens: a JSON Web Key Set (RFC 7517), given as a text or fetched. It is fetched again when it is
//! old, and when a token names a key that it doesn't have: keys are rotated.

use std::sync::Arc;
use std::time::Duration;

use assisted_base::error::chain;
use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use parking_lot::RwLock;
use reqwest::{Client, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fetch::{self, FetchError};

/// Longer texts are no tokens.
const LONGEST_TOKEN: usize = 16 << 10;

/// Most bytes of a set.
const LONGEST_SET: usize = 1 << 20;

/// After this a set is fetched again: a key that its owner has withdrawn must not be good for ever.
const FRESH: SignedDuration = SignedDuration::from_hours(1);

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub enum KeySetError {
    #[error("it is not the JSON of a key set: {0}")]
    Json(#[from] serde_json::Error),
    #[error("no key of it can verify signatures; RSA, P-256 and P-384 keys are known here")]
    Empty,
    #[error(transparent)]
    Fetch(#[from] FetchError),
}

/// Why a token is not good. None of its text shows.
#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    #[error("it is no signed token")]
    Malformed,
    #[error("its algorithm is not accepted")]
    Algorithm,
    #[error("the key that it is signed with is not known")]
    UnknownKey,
    #[error("its signature is not good")]
    Signature,
    #[error("its claims are not of the form that is wanted")]
    Claims,
    #[error("the keys can't be had")]
    Keys(#[from] Arc<KeySetError>),
}

struct Key {
    id: Option<String>,
    /// The one algorithm that the key is for, if it says so.
    algorithm: Option<Algorithm>,
    key: DecodingKey,
}

/// Public keys.
pub struct KeySet(Vec<Key>);

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

impl KeySet {
    /// Keys of kinds that are not known here are left out.
    ///
    /// # Errors
    ///
    /// The text is no set of keys, or has no key that can be used.
    pub fn parse(text: &[u8]) -> Result<Self, KeySetError> {
        let document: Document = serde_json::from_slice(text)?;
        let keys: Vec<Key> = document.keys.into_iter().filter_map(key).collect();
        if keys.is_empty() { Err(KeySetError::Empty) } else { Ok(Self(keys)) }
    }

    /// The claims of a token that is signed with one of the keys.
    fn claims<C: DeserializeOwned>(
        &self,
        token: &str,
        algorithms: &[Algorithm],
    ) -> Result<C, SignatureError> {
        if token.len() > LONGEST_TOKEN {
            return Err(SignatureError::Malformed);
        }
        // A header whose algorithm is `none`, or another that is not known, is not read.
        let header = jsonwebtoken::decode_header(token).map_err(|_| SignatureError::Malformed)?;
        if !algorithms.contains(&header.alg) {
            return Err(SignatureError::Algorithm);
        }
        let suits = |key: &&Key| key.algorithm.is_none_or(|algorithm| algorithm == header.alg);
        let key = match &header.kid {
            Some(id) => self.0.iter().find(|key| key.id.as_ref() == Some(id)),
            None if self.0.len() == 1 => self.0.first(),
            None => None,
        };
        let key = key.ok_or(SignatureError::UnknownKey)?;
        if !suits(&key) {
            return Err(SignatureError::Algorithm);
        }
        let mut validation = Validation::new(header.alg);
        // Times, issuer and audience are judged by those who know what they want.
        validation.required_spec_claims.clear();
        (validation.validate_exp, validation.validate_aud) = (false, false);
        let decoded = jsonwebtoken::decode::<C>(token, &key.key, &validation);
        Ok(decoded
            .map_err(|error| match error.kind() {
                ErrorKind::InvalidAlgorithm => SignatureError::Algorithm,
                ErrorKind::Json(_) | ErrorKind::Base64(_) | ErrorKind::Utf8(_) => SignatureError::Claims,
                _ => SignatureError::Signature,
            })?
            .claims)
    }
}

/// A key that can verify signatures. One that others have, too, verifies nothing.
fn key(value: Value) -> Option<Key> {
    let jwk: Jwk = serde_json::from_value(value).ok()?;
    if !matches!(jwk.algorithm, AlgorithmParameters::RSA(_) | AlgorithmParameters::EllipticCurve(_)) {
        return None;
    }
    if jwk.common.public_key_use.as_ref().is_some_and(|kind| *kind != PublicKeyUse::Signature) {
        return None;
    }
    let algorithm = match jwk.common.key_algorithm {
        // One for something else than signatures is for something else.
        Some(algorithm) => Some(algorithm.to_string().parse().ok()?),
        None => None,
    };
    let key = DecodingKey::from_jwk(&jwk).ok()?;
    Some(Key { id: jwk.common.key_id, algorithm, key })
}

/// Where keys come from.
enum Source {
    Given,
    At { client: Client, url: Url },
}

/// Keys that are kept up to date.
pub struct Keys {
    source: Source,
    /// Between two times that a token has them fetched.
    pause: Duration,
    held: RwLock<Option<Held>>,
    /// One fetches, the others wait for what comes.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct Held {
    set: Arc<KeySet>,
    fetched_at: Timestamp,
}

impl Keys {
    /// Keys that never change.
    ///
    /// # Errors
    ///
    /// The text is no key set.
    pub fn given(text: &str) -> Result<Self, KeySetError> {
        let held = Held { set: Arc::new(KeySet::parse(text.as_bytes())?), fetched_at: Timestamp::MAX };
        let held = RwLock::new(Some(held));
        Ok(Self { source: Source::Given, pause: Duration::ZERO, held, turn: tokio::sync::Mutex::default() })
    }

    /// Keys that are fetched when the first is wanted, and then no more often than `pause` says, whatever tokens come.
    pub fn at(client: Client, url: Url, pause: Duration) -> Self {
        let source = Source::At { client, url };
        Self { source, pause, held: RwLock::default(), turn: tokio::sync::Mutex::default() }
    }

    /// Fetches the keys if there are none.
    ///
    /// # Errors
    ///
    /// They can't be had.
    pub async fn start(&self, now: Timestamp) -> Result<(), Arc<KeySetError>> {
        if self.held.read().is_none() { self.fetch(None, now).await.map(drop) } else { Ok(()) }
    }

    /// The claims of a token that one of the keys signed, by one of the algorithms.
    ///
    /// # Errors
    ///
    /// The token is not valid, or the keys can't be fetched.
    pub async fn claims<C: DeserializeOwned>(
        &self,
        token: &str,
        algorithms: &[Algorithm],
        now: Timestamp,
    ) -> Result<C, SignatureError> {
        let held = self.held.read().clone();
        let held = match held {
            None => self.fetch(None, now).await?,
            Some(held) if self.is_old(&held, now) => match self.fetch(Some(&held), now).await {
                Ok(newer) => newer,
                Err(error) => {
                    tracing::warn!(error = %chain(&error), "keys can't be fetched anew; those that are known are used");
                    held
                }
            },
            Some(held) => held,
        };
        match held.set.claims(token, algorithms) {
            Err(SignatureError::UnknownKey) if self.may_fetch(&held, now) => {
                self.fetch(Some(&held), now).await?.set.claims(token, algorithms)
            }
            known => known,
        }
    }

    fn is_old(&self, held: &Held, now: Timestamp) -> bool {
        matches!(self.source, Source::At { .. }) && now.duration_since(held.fetched_at) > FRESH
    }

    fn may_fetch(&self, held: &Held, now: Timestamp) -> bool {
        let pause = SignedDuration::try_from(self.pause).unwrap_or(SignedDuration::MAX);
        matches!(self.source, Source::At { .. }) && now.duration_since(held.fetched_at) >= pause
    }

    /// Fetches what is newer than what the caller has; whoever waited for another to fetch gets what came.
    async fn fetch(&self, than: Option<&Held>, now: Timestamp) -> Result<Held, Arc<KeySetError>> {
        let _turn = self.turn.lock().await;
        let held = self.held.read().clone();
        if let Some(held) = held.filter(|held| than.is_none_or(|than| !Arc::ptr_eq(&held.set, &than.set))) {
            return Ok(held);
        }
        let Source::At { client, url } = &self.source else { return Err(Arc::new(KeySetError::Empty)) };
        let text = fetch::get(client, url.clone(), LONGEST_SET).await.map_err(KeySetError::from)?;
        let held = Held { set: Arc::new(KeySet::parse(&text)?), fetched_at: now };
        *self.held.write() = Some(held.clone());
        Ok(held)
    }
}
