//! An OpenID Connect provider, with the account service that may stand behind one. It signs with real keys, and can be told to
//! make mistakes.

#![allow(clippy::unwrap_used, reason = "a helper of tests")]

mod answer;
mod keys;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use keys::Key;

/// What is wrong with the tokens that a provider makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenFault {
    /// They are of another provider.
    Issuer,
    /// They are for another client.
    Audience,
    /// They are for several clients, and made for another one.
    Party,
    /// They answer another question.
    Nonce,
    /// They have none of the question's.
    NoNonce,
    /// They have ended.
    Expired,
    /// They never end.
    Endless,
    /// They were made tomorrow.
    Future,
    /// They are not signed, and say so.
    Unsigned,
    /// They are signed with a key that only the provider's name has in common with its own.
    Forged,
    /// They are signed with what everybody knows of the provider's key.
    Confused,
    /// They are about nobody.
    Nobody,
}

impl TokenFault {
    pub const ALL: [Self; 12] = [
        Self::Issuer,
        Self::Audience,
        Self::Party,
        Self::Nonce,
        Self::NoNonce,
        Self::Expired,
        Self::Endless,
        Self::Future,
        Self::Unsigned,
        Self::Forged,
        Self::Confused,
        Self::Nobody,
    ];
}

/// What a log-in is about.
#[derive(Clone, Debug, Default)]
struct Question {
    nonce: Option<String>,
    challenge: Option<String>,
    redirect: String,
}

#[derive(Debug)]
struct State {
    url: String,
    key: Key,
    stranger: Key,
    keys_made: usize,
    client: (String, String),
    person: Value,
    fault: Option<TokenFault>,
    made: usize,
    codes: HashMap<String, Question>,
    /// By device code: whether somebody has agreed.
    devices: HashMap<String, bool>,
    silent: bool,
    /// User names by pull secret.
    accounts: HashMap<String, String>,
    barred: HashSet<String>,
    reading: HashSet<String>,
    /// By name: what is kept of each, and whose cluster it is of.
    subscriptions: BTreeMap<String, Value>,
    /// The status of all answers about subscriptions, instead of what is asked for.
    refusal: Option<u16>,
    /// Whether questions about a subscription get no answer.
    stalled: bool,
    /// Who may change which subscription of others.
    editors: HashSet<(String, String)>,
    /// By user name.
    organisations: HashMap<String, String>,
    /// What organisations are granted.
    granted: HashSet<(String, String)>,
    asked: Vec<String>,
}

/// A provider on loopback. It ends with the process.
#[derive(Clone, Debug)]
pub struct IdentityProvider {
    state: Arc<Mutex<State>>,
}

impl IdentityProvider {
    /// Starts one that knows one client.
    pub fn start(client_id: &str, client_secret: &str) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address: SocketAddr = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        let state = Arc::new(Mutex::new(State {
            url: format!("http://{address}"),
            key: Key::new("key-0"),
            stranger: Key::new("key-0"),
            keys_made: 1,
            client: (client_id.to_owned(), client_secret.to_owned()),
            person: json!({"sub": "1", "preferred_username": "ann"}),
            fault: None,
            made: 0,
            codes: HashMap::new(),
            devices: HashMap::new(),
            silent: false,
            accounts: HashMap::new(),
            barred: HashSet::new(),
            reading: HashSet::new(),
            subscriptions: BTreeMap::new(),
            refusal: None,
            stalled: false,
            editors: HashSet::new(),
            organisations: HashMap::new(),
            granted: HashSet::new(),
            asked: Vec::new(),
        }));
        let served = Arc::clone(&state);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(serve(listener, served));
        });
        Self { state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Its address, which is its name, too.
    pub fn issuer(&self) -> String {
        self.state().url.clone()
    }

    /// The claims of whoever logs in next.
    pub fn set_person(&self, claims: Value) {
        self.state().person = claims;
    }

    /// What is wrong with tokens from now on.
    pub fn set_fault(&self, fault: Option<TokenFault>) {
        self.state().fault = fault;
    }

    /// Whether every question is answered with an error of the provider's.
    pub fn set_silent(&self, silent: bool) {
        self.state().silent = silent;
    }

    /// Signs with another key from now on; the former one is in its key set no more.
    pub fn rotate(&self) {
        let mut state = self.state();
        state.key = Key::new(&format!("key-{}", state.keys_made));
        state.keys_made += 1;
    }

    /// Somebody agrees to whatever devices ask for.
    pub fn approve_devices(&self) {
        self.state().devices.values_mut().for_each(|approved| *approved = true);
    }

    /// How many devices wait.
    pub fn devices(&self) -> usize {
        self.state().devices.len()
    }

    /// A token of its own with these claims, beside those that it makes when asked.
    pub fn token(&self, claims: &Value) -> String {
        self.state().key.token(claims)
    }

    /// One that is signed with another's key of the same name.
    pub fn forged(&self, claims: &Value) -> String {
        self.state().stranger.token(claims)
    }

    /// One that is signed with what everybody knows.
    pub fn confused(&self, claims: &Value) -> String {
        self.state().key.confused(claims)
    }

    /// One that is not signed.
    pub fn unsigned(&self, claims: &Value) -> String {
        format!("{}.", keys::unsigned(&json!({"alg": "none", "typ": "JWT"}), claims))
    }

    /// Its key set.
    pub fn key_set(&self) -> String {
        json!({"keys": [self.state().key.public()]}).to_string()
    }

    /// Somebody has an account, known by a pull secret.
    pub fn add_account(&self, pull_secret: &str, user_name: &str) {
        self.state().accounts.insert(pull_secret.to_owned(), user_name.to_owned());
    }

    /// Somebody may not use the service.
    pub fn bar(&self, user_name: &str) {
        self.state().barred.insert(user_name.to_owned());
    }

    /// Somebody may look at everything.
    pub fn let_read(&self, user_name: &str) {
        self.state().reading.insert(user_name.to_owned());
    }

    /// Answers about subscriptions with this status from now on, or does what it is asked.
    pub fn refuse_subscriptions(&self, status: Option<u16>) {
        self.state().refusal = status;
    }

    /// Gives no answer to questions about a subscription from now on, or does.
    pub fn stall_subscriptions(&self, stalled: bool) {
        self.state().stalled = stalled;
    }

    /// What it keeps of clusters, by the names of the subscriptions.
    pub fn subscriptions(&self) -> BTreeMap<String, Value> {
        self.state().subscriptions.clone()
    }

    /// Somebody takes a subscription away.
    pub fn lose_subscription(&self, id: &str) {
        self.state().subscriptions.remove(id);
    }

    /// A subscription is in use, though nobody here said so.
    pub fn activate(&self, id: &str) {
        self.state().subscriptions.get_mut(id).unwrap()["status"] = json!("Active");
    }

    /// Somebody may change a subscription that is not theirs.
    pub fn let_change(&self, user_name: &str, subscription: &str) {
        self.state().editors.insert((user_name.to_owned(), subscription.to_owned()));
    }

    /// Somebody belongs to an organisation.
    pub fn add_to(&self, organisation: &str, user_name: &str) {
        self.state().organisations.insert(user_name.to_owned(), organisation.to_owned());
    }

    /// An organisation is granted a capability.
    pub fn grant(&self, organisation: &str, capability: &str) {
        self.state().granted.insert((organisation.to_owned(), capability.to_owned()));
    }

    /// How often a path was asked for.
    pub fn asked(&self, path: &str) -> usize {
        self.state().asked.iter().filter(|asked| *asked == path).count()
    }
}

async fn serve(listener: std::net::TcpListener, state: Arc<Mutex<State>>) {
    let listener = TcpListener::from_std(listener).unwrap();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let state = Arc::clone(&state);
                async move { Ok::<_, Infallible>(answer::answer(&state, request).await) }
            });
            // A client that goes away is none of ours.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}
