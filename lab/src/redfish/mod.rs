//! Real machines by their management controllers: power, virtual media and what is booted next (Redfish DSP0266).

mod controller;

use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::header::{ETAG, HeaderMap, IF_MATCH};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

pub use controller::Controller;

use crate::wait::Wait;

/// Management controllers are slow, and inserting a medium may fetch all of it.
const ANSWER: Duration = Duration::from_secs(300);
/// How long a machine may take until it is off, or on.
const POWER: Duration = Duration::from_secs(180);
const LOOK: Duration = Duration::from_secs(1);
/// Longest answer, in bytes.
const LONGEST: usize = 4 << 20;

/// Why a management controller does not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum RedfishError {
    #[error("{0} can't be used: {1}")]
    Settings(String, String),
    #[error("the password of {url} can't be read from {}: {source}", path.display())]
    Password { url: String, path: PathBuf, source: std::io::Error },
    #[error("{url} can't be reached: {reason}")]
    Unreachable { url: String, reason: String },
    #[error("{url} refused {what} ({status}): {said}")]
    Refused { url: String, what: String, status: StatusCode, said: String },
    #[error("{url} has no {what}: is it the address of a system, such as https://…/redfish/v1/Systems/1?")]
    Missing { url: String, what: String },
    #[error("{url} is still {state} after {} s", POWER.as_secs())]
    Power { url: String, state: String },
}

/// One machine, as its management controller shows it.
pub struct Bmc {
    /// Scheme, host and port.
    origin: String,
    /// Path of the machine's own resource.
    system: String,
    user: String,
    password: String,
    http: Client,
    runtime: Runtime,
}

impl Bmc {
    /// Looks whether the controller answers, knows the machine and has a drive for virtual media.
    pub fn connect(controller: &Controller, dir: &Path) -> Result<Self, RedfishError> {
        let settings = |error: String| RedfishError::Settings(controller.system.clone(), error);
        let (origin, system) = split(&controller.system).map_err(settings)?;
        let http = Client::builder()
            .danger_accept_invalid_certs(controller.insecure)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(ANSWER)
            .build();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let bmc = Self {
            origin,
            system,
            user: controller.user.clone(),
            password: controller.password(dir)?,
            http: http.map_err(|error| settings(error.to_string()))?,
            runtime: runtime.map_err(|error| settings(error.to_string()))?,
        };
        bmc.drive()?;
        Ok(bmc)
    }

    /// Starts the machine from a medium: an ISO that its controller fetches. It boots its disk after that one time.
    pub fn boot_medium(&self, image: &str) -> Result<(), RedfishError> {
        self.off()?;
        let drive = self.drive()?;
        self.empty(&drive)?;
        let wish = json!({ "Image": image, "Inserted": true, "WriteProtected": true });
        self.act(&drive, "VirtualMedia.InsertMedia", &wish)?;
        let boot = json!({ "BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once" });
        self.request(&Method::PATCH, &self.system, Some(&json!({ "Boot": boot })))?;
        self.power("On")
    }

    /// Presses the reset button.
    pub fn reset(&self) -> Result<(), RedfishError> {
        self.act(&self.get(&self.system)?, "ComputerSystem.Reset", &json!({ "ResetType": "ForceRestart" }))
    }

    fn off(&self) -> Result<(), RedfishError> {
        match self.get(&self.system)?["PowerState"] == "Off" {
            true => Ok(()),
            false => self.power("Off"),
        }
    }

    fn power(&self, wanted: &str) -> Result<(), RedfishError> {
        let kind = if wanted == "Off" { "ForceOff" } else { wanted };
        self.act(&self.get(&self.system)?, "ComputerSystem.Reset", &json!({ "ResetType": kind }))?;
        let mut wait = Wait::new(format_args!("power {wanted}"), self.url(&self.system), POWER);
        loop {
            let state = self.get(&self.system)?["PowerState"].clone();
            if state == wanted {
                return Ok(());
            }
            if wait.pause(LOOK).is_err() {
                let state = state.as_str().unwrap_or("in no known state").to_owned();
                return Err(RedfishError::Power { url: self.url(&self.system), state });
            }
        }
    }

    /// The drive for CDs: of the machine itself, or of whatever manages it, as older controllers have it.
    fn drive(&self) -> Result<Value, RedfishError> {
        let system = self.get(&self.system)?;
        let mut owners = vec![system.clone()];
        for manager in list(&system["Links"]["ManagedBy"]) {
            owners.push(self.get(manager)?);
        }
        for owner in &owners {
            let Some(path) = link(&owner["VirtualMedia"]) else { continue };
            for path in list(&self.get(path)?["Members"]) {
                let drive = self.get(path)?;
                let kinds = drive["MediaTypes"].as_array().into_iter().flatten();
                let takes_cds = kinds.into_iter().any(|kind| kind == "CD" || kind == "DVD");
                if takes_cds && action(&drive, "VirtualMedia.InsertMedia").is_some() {
                    return Ok(drive);
                }
            }
        }
        Err(self.missing("drive for virtual media"))
    }

    fn empty(&self, drive: &Value) -> Result<(), RedfishError> {
        match drive["Inserted"] == true {
            true => self.act(drive, "VirtualMedia.EjectMedia", &json!({})),
            false => Ok(()),
        }
    }

    fn act(&self, resource: &Value, name: &str, wish: &Value) -> Result<(), RedfishError> {
        let target = action(resource, name).ok_or_else(|| self.missing(name))?;
        self.request(&Method::POST, target, Some(wish)).map(drop)
    }

    fn get(&self, path: &str) -> Result<Value, RedfishError> {
        self.request(&Method::GET, path, None).map(|(_, answer)| answer)
    }

    fn request(
        &self,
        method: &Method,
        path: &str,
        wish: Option<&Value>,
    ) -> Result<(HeaderMap, Value), RedfishError> {
        let mut more = HeaderMap::new();
        if *method == Method::PATCH
            && let Some(etag) = self.request(&Method::GET, path, None)?.0.remove(ETAG)
        {
            // Some refuse a change that doesn't say what it changes.
            more.insert(IF_MATCH, etag);
        }
        let url = self.url(path);
        let what = format!("{method}");
        let asked = self
            .http
            .request(method.clone(), &url)
            .basic_auth(&self.user, Some(&self.password))
            .headers(more);
        let asked = match wish {
            Some(wish) => asked.json(wish),
            None => asked,
        };
        let unreachable =
            |error: reqwest::Error| RedfishError::Unreachable { url: url.clone(), reason: cause(&error) };
        let exchange = async {
            let mut answer = asked.send().await.map_err(unreachable)?;
            let (status, headers) = (answer.status(), answer.headers().clone());
            let mut text = Vec::new();
            while let Some(piece) = answer.chunk().await.map_err(unreachable)? {
                text.extend_from_slice(&piece);
                if text.len() > LONGEST {
                    let reason = format!("its answer is longer than {LONGEST} bytes");
                    return Err(RedfishError::Unreachable { url: url.clone(), reason });
                }
            }
            let content: Value = serde_json::from_slice(&text).unwrap_or_default();
            if !status.is_success() {
                return Err(RedfishError::Refused {
                    url: url.clone(),
                    what,
                    status,
                    said: complaint(&content),
                });
            }
            Ok((headers, content))
        };
        // The client has a limit of its own for all of it, which is told as what it is.
        let mut wait = Wait::new(format_args!("answer of {url} to {method}"), &url, 2 * ANSWER);
        self.runtime.block_on(async {
            let mut exchange = std::pin::pin!(exchange);
            loop {
                tokio::select! {
                    answer = &mut exchange => return answer,
                    () = tokio::time::sleep(LOOK) => wait.go_on().map_err(|late| RedfishError::Unreachable {
                        url: url.clone(),
                        reason: late.to_string(),
                    })?,
                }
            }
        })
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    fn missing(&self, what: &str) -> RedfishError {
        RedfishError::Missing { url: self.url(&self.system), what: what.to_owned() }
    }
}

/// Origin and path of the address of a system.
fn split(system: &str) -> Result<(String, String), String> {
    let url = url::Url::parse(system).map_err(|error| error.to_string())?;
    if !matches!(url.scheme(), "http" | "https") || url.path().trim_matches('/').is_empty() {
        return Err(
            "it is not the address of a system, such as https://192.0.2.1/redfish/v1/Systems/1".to_owned()
        );
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("user and password have settings of their own".to_owned());
    }
    Ok((url.origin().ascii_serialization(), url.path().trim_end_matches('/').to_owned()))
}

fn link(value: &Value) -> Option<&str> {
    path(&value["@odata.id"])
}

/// A path on the controller itself: behind its name anything else would lead elsewhere, and the password with it.
fn path(value: &Value) -> Option<&str> {
    value.as_str().filter(|path| path.starts_with('/'))
}

fn list(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(link)
}

/// Where an action of a resource is asked for.
fn action<'a>(resource: &'a Value, name: &str) -> Option<&'a str> {
    path(&resource["Actions"][format!("#{name}")]["target"])
}

/// What a controller says is wrong.
fn complaint(answer: &Value) -> String {
    let error = &answer["error"];
    let more = error["@Message.ExtendedInfo"][0]["Message"].as_str();
    more.or(error["message"].as_str()).unwrap_or("no reason given").chars().take(500).collect()
}

fn cause(error: &reqwest::Error) -> String {
    let mut deepest: &dyn std::error::Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_system_is_taken_apart() {
        let (origin, path) = split("https://192.0.2.1:8443/redfish/v1/Systems/1/").unwrap();
        assert_eq!((origin.as_str(), path.as_str()), ("https://192.0.2.1:8443", "/redfish/v1/Systems/1"));
        for wrong in ["", "192.0.2.1", "ftp://192.0.2.1/x", "https://192.0.2.1/", "https://a:b@192.0.2.1/x"] {
            assert!(split(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_controller_leads_nowhere_else() {
        let resource = |target: &str| json!({"@odata.id": target, "Actions": {"#A.B": {"target": target}}});
        assert_eq!(action(&resource("/redfish/v1/x"), "A.B"), Some("/redfish/v1/x"));
        for elsewhere in ["@192.0.2.9/x", ".example.com/x", "http://192.0.2.9/x", ""] {
            assert_eq!(link(&resource(elsewhere)), None);
            assert_eq!(action(&resource(elsewhere), "A.B"), None);
        }
    }

    #[test]
    fn what_is_wrong_is_the_most_that_is_said() {
        let answer =
            json!({"error": {"message": "general", "@Message.ExtendedInfo": [{"Message": "no medium"}]}});
        assert_eq!(complaint(&answer), "no medium");
        assert_eq!(complaint(&json!({"error": {"message": "general"}})), "general");
        assert_eq!(complaint(&Value::Null), "no reason given");
    }
}
