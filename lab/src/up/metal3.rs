//! metal3's part at a lab's hub. By virtual media machines boot what their BareMetalHosts name, whose status tells of it; the other flow is
//! in `converged`.

use std::fs::File;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Flow, Lab, LabError, NAME, Phase, Plan, heading, program, say, tls, write_secret};
use crate::namespace::Medium;
use crate::network;

/// From the manifests until the last machine boots: the service lets an image rest for a minute.
pub(super) const BOOT: Duration = Duration::from_secs(15 * 60);

/// Fails when the lab can't show what is asked for.
pub(super) fn must_come(plan: &Plan) -> Result<(), LabError> {
    match plan.hub {
        Some(Flow::Converged) if !plan.namespaces => Err(LabError::OnlyNamespacesConverged),
        _ => Ok(()),
    }
}

pub(super) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

pub(super) fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// How far metal3 is with a machine.
pub(super) fn state(host: &Value) -> &str {
    host["status"]["provisioning"]["state"].as_str().unwrap_or_default()
}

/// What an order of metal3's is to become.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<'a> {
    /// metal3 takes the machine in.
    Register,
    /// Nobody has said what it is to boot.
    Wait,
    /// It boots the image at this address.
    Boot(&'a str),
    /// It has done so.
    Done,
}

pub(super) fn next(host: &Value) -> Next<'_> {
    let wanted = host["spec"]["image"]["url"].as_str().filter(|_| host["spec"]["online"] == true);
    match (state(host), wanted) {
        ("provisioned", _) => Next::Done,
        ("available", Some(url)) => Next::Boot(url),
        ("available", None) => Next::Wait,
        _ => Next::Register,
    }
}

pub(super) fn status(state: &str, is_on: bool, url: &str) -> Value {
    json!({"status": {
        "errorCount": 0, "errorMessage": "", "hardwareProfile": "", "operationalStatus": "OK", "poweredOn": is_on,
        "goodCredentials": {}, "provisioning": {"ID": "", "state": state, "image": {"url": url}},
    }})
}

/// Whether a condition of an object is true.
pub(super) fn is_true(object: &Value, condition: &str) -> bool {
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|found| found["type"] == condition && found["status"] == "True")
}

impl Lab {
    /// Installs the cluster that the hub's objects describe, by nobody's order.
    pub(super) fn run_by_hub(&mut self) -> Result<(), LabError> {
        let is_converged = self.plan.hub == Some(Flow::Converged);
        heading(match is_converged {
            true => "metal3 inspects the machines with the image of their InfraEnv, and has them installed",
            false => "metal3 boots the machines from the image that their objects name",
        });
        self.begins("machines boot, and are discovered");
        match is_converged {
            true => self.have_installed()?,
            false => self.play_metal3()?,
        }
        heading("The installation, which begins by itself");
        self.begins("the cluster is installed");
        self.phase = Phase::Installing;
        self.await_completed()?;
        if is_converged {
            self.await_let_go()?;
        }
        self.phase = Phase::Installed;
        heading("The objects, and the cluster");
        for words in [
            &["agentclusterinstall", NAME, "--for=condition=Completed"][..],
            &["agents", "--all", "--for=condition=Installed"],
        ] {
            self.show_hub(&[&["wait", "--timeout=5m"], words].concat())?;
        }
        self.show_hub(&["get", "agentclusterinstalls,agents,infraenvs,baremetalhosts"])?;
        self.keep_objects()?;
        self.take_kubeconfig()?;
        self.show_kubectl(&["get", "nodes", "-o", "wide"])
    }

    /// Waits until the cluster's object tells that it is installed; shows what it tells until then.
    fn await_completed(&mut self) -> Result<(), LabError> {
        let mut wait = self.wait_for("the condition Completed of the AgentClusterInstall", self.plan.limit);
        let mut shown = String::new();
        loop {
            let install = self.hub_json(&["get", "agentclusterinstall", NAME])?;
            let (debug, progress) = (&install["status"]["debugInfo"], &install["status"]["progress"]);
            let told = format!(
                "agentclusterinstall {NAME}: {} {}%: {}",
                debug["state"].as_str().unwrap_or_default(),
                progress["totalPercentage"].as_u64().unwrap_or_default(),
                debug["stateInfo"].as_str().unwrap_or_default(),
            );
            if told != shown {
                say(&told);
                shown = told;
            }
            match (is_true(&install, "Completed"), is_true(&install, "Failed")) {
                (true, _) => return Ok(()),
                (_, true) => {
                    let command = "the installation by manifests".to_owned();
                    return Err(LabError::Command { command, said: shown });
                }
                _ => {}
            }
            // Looking costs what machines could use.
            for _ in 0..10 {
                self.pause()?;
            }
            if self.ironic.is_some() {
                self.play_converged()?;
            }
            wait.go_on()?;
        }
    }

    /// Plays metal3 until every machine has booted what its object names.
    fn play_metal3(&mut self) -> Result<(), LabError> {
        let mut wait = self.wait_for("BareMetalHosts that name an image", BOOT);
        loop {
            let hosts = self.hub_json(&["get", "baremetalhosts"])?;
            let hosts: Vec<_> = hosts["items"].as_array().into_iter().flatten().collect();
            let mut left = Vec::new();
            for number in self.numbers(false) {
                let Some((planned, _)) = self.machines.get(number) else { continue };
                let name = planned.name.clone();
                let Some(host) = hosts.iter().find(|host| host["metadata"]["name"] == name.as_str()) else {
                    left.push(name);
                    continue;
                };
                match next(host) {
                    Next::Done => continue,
                    Next::Wait => {}
                    Next::Register => self.tell(&name, &status("available", false, ""))?,
                    Next::Boot(url) => {
                        say(&format!("\n{name}: its BareMetalHost names {url}"));
                        self.boot_image(number, url)?;
                        self.tell(&name, &status("provisioned", true, url))?;
                    }
                }
                left.push(name);
            }
            if left.is_empty() {
                return Ok(());
            }
            wait.is_for(format_args!("images of the BareMetalHosts {}", left.join(", ")));
            self.pause()?;
            wait.go_on()?;
        }
    }

    /// Writes the status of a machine's object.
    pub(super) fn tell(&self, name: &str, status: &Value) -> Result<(), LabError> {
        let patch = status.to_string();
        let words =
            ["patch", "baremetalhost", name, "--subresource=status", "--type=merge", "--patch", &patch];
        self.show_hub(&words)
    }

    /// Writes a change; what was changed or taken away by others meanwhile is looked at again.
    pub(super) fn patch(
        &self,
        kind: &str,
        name: &str,
        change: &Value,
        is_status: bool,
    ) -> Result<(), LabError> {
        let change = change.to_string();
        let mut words = vec!["patch", kind, name, "--type=merge", "--patch", &change];
        if is_status {
            words.push("--subresource=status");
        }
        match self.show_hub(&words) {
            Err(error @ LabError::Command { .. }) => {
                say(&format!("{error}; it is tried again"));
                Ok(())
            }
            done => done,
        }
    }

    /// Has a machine boot an image. A management controller fetches it by itself; for other machines the lab does that, once for each image.
    pub(super) fn boot_image(&mut self, number: usize, url: &str) -> Result<(), LabError> {
        if self.plan.rack.is_some() {
            return self.boot_by_controller(number, url);
        }
        let file = match self.images.get(url) {
            Some(file) => file.clone(),
            None => {
                let file = format!("live-{}.iso", self.images.len());
                self.fetch(url, &file)?;
                self.images.insert(url.to_owned(), file.clone());
                file
            }
        };
        self.media.insert(number, Medium::Image(self.plan.dir.join(file)));
        self.power_on(number)
    }

    /// Fetches an image as a management controller would.
    fn fetch(&self, url: &str, to: &str) -> Result<(), LabError> {
        let mut curl = network::inside(self.network.name(), "curl");
        curl.args(["--fail", "--silent", "--show-error", "--cacert", tls::CA, "--output", to, url]);
        curl.stdin(Stdio::null()).current_dir(&self.plan.dir);
        program::run(&format!("curl {url}"), &mut curl, &self.plan.dir)
    }

    /// Takes the cluster's kubeconfig out of the Secret that the service has made of it.
    fn take_kubeconfig(&self) -> Result<(), LabError> {
        self.take_kubeconfig_of(&format!("{NAME}-admin-kubeconfig"), "kubeconfig")
    }

    /// Takes a kubeconfig out of a member of a Secret.
    pub(super) fn take_kubeconfig_of(&self, secret: &str, member: &str) -> Result<(), LabError> {
        let path = self.plan.dir.join("kubeconfig");
        write_secret(&path, "")?;
        let file = File::options().write(true).open(&path).map_err(LabError::io(&path))?;
        say(&format!("\n$ kubectl get secret {secret} > kubeconfig"));
        let template = format!("--output=go-template={{{{.data.{member}|base64decode}}}}");
        let mut get = self.hub_kubectl(&["get", "secret", secret, &template])?;
        program::run(&format!("kubectl get secret {secret}"), get.stdout(file), &self.plan.dir)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_boots_once_and_when_it_is_told_what_and_to_be_on() {
        let host = |state: &str, url: &str, online: bool| {
            let mut host = status(state, false, "");
            host["spec"] = json!({"online": online, "image": {"url": url}});
            host
        };
        assert_eq!(next(&json!({"spec": {}})), Next::Register);
        assert_eq!(next(&host("registering", "http://a", true)), Next::Register);
        assert_eq!(next(&host("available", "http://a", false)), Next::Wait);
        let mut bare = host("available", "http://a", true);
        assert_eq!(next(&bare), Next::Boot("http://a"));
        bare["spec"]["image"] = Value::Null;
        assert_eq!(next(&bare), Next::Wait);
        assert_eq!(next(&host("provisioned", "http://a", true)), Next::Done);
    }
}
