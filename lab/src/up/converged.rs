//! metal3's part where it inspects machines and has them installed: it asks for an image by a PreprovisioningImage, Ironic's agent in that image
//! tells what the machine is and starts the installation, and a machine that is installed, or whose object goes, is treated as its
//! BareMetalHost says.

use assisted_crd::labels::annotation;
use serde_json::{Value, json};

use super::hub::DIR;
use super::ironic::Node;
use super::manifests::metadata;
use super::metal3::{BOOT, is_deleting, is_true, name, state, status};
use super::{Lab, LabError, say};

/// What is read.
const READ: &str = "baremetalhosts,preprovisioningimages";
/// By this metal3 keeps a BareMetalHost until its machine is off.
const FINALIZER: &str = "baremetalhost.metal3.io";
/// What a status says of a machine that metal3 keeps its hands off.
const DETACHED: &str = "detached";
const POWERING_OFF: &str = "powering off before delete";

/// What is to become of a machine.
#[derive(Debug, PartialEq, Eq)]
enum Next<'a> {
    /// Nothing now.
    Wait,
    /// Its object is kept from now on.
    Keep,
    /// It is taken in, and an image is asked for.
    Register,
    /// It boots the image at this address, and is in this state then.
    Boot(&'a str, &'a str),
    /// It is in this state.
    Tell(&'static str),
    /// Ironic's agent runs this step.
    Order(&'a str),
    /// It starts from its disk: it is installed.
    Start,
    /// Ironic's agent has failed.
    Fail,
    /// Whether metal3 looks after it changes.
    Operate(&'static str),
    /// It is switched off and emptied, and boots the image at this address, if it is to stay.
    Clean(Option<&'a str>),
    /// Its object may go.
    Release,
}

fn next<'a>(host: &'a Value, image: Option<&'a Value>, node: &Node) -> Next<'a> {
    let annotated = |name: &str| host["metadata"]["annotations"][name].as_str();
    if annotated(annotation::BMH_PAUSED).is_some() {
        return Next::Wait;
    }
    if !is_kept(host) {
        return if is_deleting(host) { Next::Wait } else { Next::Keep };
    }
    let state = state(host);
    let is_let_go = host["status"]["operationalStatus"] == DETACHED;
    match annotated(annotation::BMH_DETACHED) {
        // It goes as it is.
        Some(how) if is_deleting(host) && !delays(how) => {
            return if state == "deleting" { Next::Release } else { Next::Tell("deleting") };
        }
        Some(_) if is_let_go => return Next::Wait,
        Some(_) => return Next::Operate(DETACHED),
        None if is_let_go => return Next::Operate("OK"),
        None => {}
    }
    if is_deleting(host) {
        return match state {
            "provisioning" | "provisioned" => Next::Tell("deprovisioning"),
            POWERING_OFF => Next::Tell("deleting"),
            "" | "deleting" => Next::Release,
            _ => Next::Clean(None),
        };
    }
    let image = image.filter(|image| is_true(image, "Ready"));
    let url = image.and_then(|image| image["status"]["imageUrl"].as_str()).filter(|url| !url.is_empty());
    let step = host["spec"]["customDeploy"]["method"].as_str();
    let is_booted = matches!(state, "inspecting" | "preparing" | "available" | "provisioning");
    match (state, url, step) {
        ("", ..) => Next::Register,
        ("registering", Some(url), _) => Next::Boot(url, "inspecting"),
        (_, Some(url), _) if is_booted && annotated(annotation::REBOOT).is_some() => Next::Boot(url, state),
        ("inspecting", ..) if node.inventory.is_some() => Next::Tell("preparing"),
        ("preparing", ..) if node.inventory.is_some() => Next::Tell("available"),
        ("available", _, Some(step)) if host["spec"]["online"] == true => Next::Order(step),
        ("provisioning", ..) => match node.outcome {
            Some(true) => Next::Start,
            Some(false) => Next::Fail,
            None => Next::Wait,
        },
        ("provisioned", _, None) => Next::Tell("deprovisioning"),
        ("deprovisioning", Some(url), _) => Next::Clean(Some(url)),
        _ => Next::Wait,
    }
}

fn is_kept(host: &Value) -> bool {
    let mut finalizers = host["metadata"]["finalizers"].as_array().into_iter().flatten();
    finalizers.any(|finalizer| finalizer == FINALIZER)
}

/// Whether a machine that metal3 keeps its hands off waits for somebody before it goes.
fn delays(detached: &str) -> bool {
    let how: Value = serde_json::from_str(detached).unwrap_or_default();
    how["deleteAction"] == "delay"
}

/// The finalizers of an object with metal3's, or without it; nobody else's may come or go meanwhile.
fn finalizers(host: &Value, is_kept: bool) -> Value {
    let all = host["metadata"]["finalizers"].as_array().into_iter().flatten();
    let mut all: Vec<_> = all.filter(|finalizer| **finalizer != FINALIZER).cloned().collect();
    if is_kept {
        all.push(FINALIZER.into());
    }
    json!({"metadata": {"finalizers": all, "resourceVersion": host["metadata"]["resourceVersion"]}})
}

/// What a machine's status says in a state.
fn told(host: &Value, state: &str, is_on: bool, node: &Node) -> Value {
    let mut told = status(state, is_on, "");
    let provisioning = &mut told["status"]["provisioning"];
    provisioning["ID"] = host["metadata"]["uid"].clone();
    provisioning["customDeploy"] = match state {
        "provisioned" => host["spec"]["customDeploy"].clone(),
        _ => Value::Null,
    };
    if let Some(inventory) = &node.inventory {
        let cards = inventory["interfaces"].as_array().into_iter().flatten();
        // The loopback is no card.
        let cards = cards.filter(|card| card["name"] != "lo");
        let cards: Vec<_> =
            cards.map(|card| json!({"name": card["name"], "mac": card["mac_address"]})).collect();
        told["status"]["hardware"] = json!({"hostname": inventory["hostname"], "nics": cards});
    }
    told
}

impl Lab {
    /// Plays metal3 until every machine is being installed.
    pub(super) fn have_installed(&mut self) -> Result<(), LabError> {
        let is_so = |host: &Value| matches!(state(host), "provisioning" | "provisioned");
        self.play_until("machines that metal3 has installed", is_so)
    }

    /// Plays metal3 until it keeps its hands off every machine.
    pub(super) fn await_let_go(&mut self) -> Result<(), LabError> {
        let is_so = |host: &Value| host["metadata"]["annotations"][annotation::BMH_PAUSED].is_string();
        self.play_until("machines that metal3 keeps its hands off", is_so)
    }

    fn play_until(&mut self, what: &str, is_so: impl Fn(&Value) -> bool) -> Result<(), LabError> {
        let mut wait = self.wait_for(what, BOOT);
        loop {
            let hosts = self.play_converged()?;
            let left: Vec<_> = hosts.iter().filter(|host| !is_so(host)).map(name).collect();
            if left.is_empty() {
                return Ok(());
            }
            wait.is_for(format_args!("{what}: {}", left.join(", ")));
            self.pause()?;
            wait.go_on()?;
        }
    }

    /// One look at all machines, and what is to be done; the BareMetalHosts as they were before that.
    pub(super) fn play_converged(&mut self) -> Result<Vec<Value>, LabError> {
        let Value::Array(objects) = self.hub_json(&["get", READ])?["items"].take() else {
            return Ok(Vec::new());
        };
        let (hosts, images): (Vec<_>, Vec<_>) =
            objects.into_iter().partition(|object| object["kind"] == "BareMetalHost");
        for host in &hosts {
            let machine = self.machines.iter().position(|(planned, _)| planned.name == name(host));
            let node = self.ironic.as_ref().map(|ironic| ironic.node(name(host)));
            if let Some((number, node)) = machine.zip(node) {
                let image = images.iter().find(|image| name(image) == name(host));
                self.advance(number, host, &node, &next(host, image, &node))?;
            }
        }
        Ok(hosts)
    }

    fn advance(&mut self, number: usize, host: &Value, node: &Node, next: &Next<'_>) -> Result<(), LabError> {
        let own = name(host);
        let state = match *next {
            Next::Wait => return Ok(()),
            Next::Keep => return self.patch("baremetalhost", own, &finalizers(host, true), false),
            Next::Release => return self.patch("baremetalhost", own, &finalizers(host, false), false),
            Next::Operate(how) => {
                let how = json!({"status": {"operationalStatus": how}});
                return self.patch("baremetalhost", own, &how, true);
            }
            Next::Fail => {
                let command = format!("the installation of {own} by Ironic's agent");
                let said = format!("its log is in {own} of the lab's folder");
                return Err(LabError::Command { command, said });
            }
            Next::Register => {
                self.ask_for_image(host)?;
                "registering"
            }
            Next::Boot(url, state) => {
                self.boot_agent(number, host, url)?;
                // What it told before is not so any more.
                return self.tell_of(number, host, state, &Node::default());
            }
            Next::Order(step) => {
                say(&format!("\n{own}: Ironic's agent is to run {step}"));
                self.ironic.iter().for_each(|ironic| ironic.order(own, step));
                "provisioning"
            }
            Next::Start => {
                say(&format!("\n{own}: Ironic restarts it, from its disk"));
                self.reset(number)?;
                "provisioned"
            }
            Next::Clean(url) => {
                self.deprovision(number, own)?;
                match url {
                    Some(url) => {
                        self.boot_agent(number, host, url)?;
                        "preparing"
                    }
                    None => POWERING_OFF,
                }
            }
            Next::Tell(state) => state,
        };
        self.tell_of(number, host, state, node)
    }

    fn tell_of(&self, number: usize, host: &Value, state: &str, node: &Node) -> Result<(), LabError> {
        let is_on = self.machines.get(number).is_some_and(|(_, machine)| machine.is_some());
        self.patch("baremetalhost", name(host), &told(host, state, is_on, node), true)
    }

    /// metal3 has an image of each machine's own.
    fn ask_for_image(&self, host: &Value) -> Result<(), LabError> {
        let own = name(host);
        let mut described = metadata(own);
        described["labels"] = host["metadata"]["labels"].clone();
        described["ownerReferences"] = json!([{
            "apiVersion": host["apiVersion"], "kind": host["kind"], "name": own, "uid": host["metadata"]["uid"],
            "controller": true, "blockOwnerDeletion": true,
        }]);
        let image = json!({
            "apiVersion": host["apiVersion"], "kind": "PreprovisioningImage", "metadata": described,
            "spec": {"acceptFormats": ["iso"], "architecture": "x86_64"},
        });
        self.apply_objects(&format!("{DIR}/{own}-image.json"), &[image])
    }

    /// Starts a machine anew from an image with Ironic's agent, as somebody may have asked for.
    fn boot_agent(&mut self, number: usize, host: &Value, url: &str) -> Result<(), LabError> {
        let own = name(host);
        say(&format!("\n{own}: its PreprovisioningImage has {url}"));
        if host["metadata"]["annotations"][annotation::REBOOT].is_string() {
            let done = json!({"metadata": {"annotations": {(annotation::REBOOT): null}}});
            self.patch("baremetalhost", own, &done, false)?;
        }
        self.ironic.iter().for_each(|ironic| ironic.forget(own));
        self.switch_off(number);
        self.boot_image(number, url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(state: &str, method: &Value) -> Value {
        json!({
            "metadata": {"finalizers": [FINALIZER], "annotations": {}}, "spec": {"online": true, "customDeploy": method},
            "status": {"operationalStatus": "OK", "provisioning": {"state": state}},
        })
    }

    fn annotated(state: &str, name: &str, value: &str) -> Value {
        let mut host = host(state, &json!({"method": "m"}));
        host["metadata"]["annotations"][name] = value.into();
        host
    }

    fn deleted(mut host: Value) -> Value {
        host["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z".into();
        host
    }

    #[test]
    fn a_machine_is_inspected_installed_and_let_go() {
        let image = json!({"status": {"imageUrl": "u", "conditions": [{"type": "Ready", "status": "True"}]}});
        let unready =
            json!({"status": {"imageUrl": "u", "conditions": [{"type": "Ready", "status": "False"}]}});
        let (silent, known) = (Node::default(), Node { inventory: Some(json!({})), ..Node::default() });
        let ended = |outcome: bool| Node { outcome: Some(outcome), ..known.clone() };
        let method = || json!({"method": "m"});
        let image = Some(&image);
        assert_eq!(next(&json!({}), None, &silent), Next::Keep);
        assert_eq!(next(&host("", &Value::Null), None, &silent), Next::Register);
        let registering = host("registering", &Value::Null);
        for (image, expected) in
            [(None, Next::Wait), (Some(&unready), Next::Wait), (image, Next::Boot("u", "inspecting"))]
        {
            assert_eq!(next(&registering, image, &silent), expected);
        }
        for (state, method, node, expected) in [
            ("inspecting", Value::Null, &silent, Next::Wait),
            ("inspecting", Value::Null, &known, Next::Tell("preparing")),
            ("preparing", Value::Null, &known, Next::Tell("available")),
            ("available", Value::Null, &known, Next::Wait),
            ("available", method(), &known, Next::Order("m")),
            ("provisioning", method(), &known, Next::Wait),
            ("provisioning", method(), &ended(true), Next::Start),
            ("provisioning", method(), &ended(false), Next::Fail),
            ("provisioned", method(), &known, Next::Wait),
            // Its host has left the cluster.
            ("provisioned", Value::Null, &known, Next::Tell("deprovisioning")),
            ("deprovisioning", Value::Null, &known, Next::Clean(Some("u"))),
        ] {
            assert_eq!(next(&host(state, &method), image, node), expected, "{state} {method}");
        }
        let mut off = host("available", &method());
        off["spec"]["online"] = false.into();
        assert_eq!(next(&off, image, &known), Next::Wait);
        for (state, expected) in
            [("provisioning", Next::Boot("u", "provisioning")), ("provisioned", Next::Wait)]
        {
            let host = annotated(state, annotation::REBOOT, "{}");
            assert_eq!(next(&host, image, &known), expected);
        }
        let mut detached = annotated("provisioned", annotation::BMH_DETACHED, "x");
        assert_eq!(next(&detached, image, &known), Next::Operate(DETACHED));
        detached["status"]["operationalStatus"] = DETACHED.into();
        assert_eq!(next(&detached, image, &known), Next::Wait);
        detached["metadata"]["annotations"] = json!({});
        assert_eq!(next(&detached, image, &known), Next::Operate("OK"));
    }

    #[test]
    fn a_machine_whose_object_goes_is_emptied_unless_metal3_keeps_its_hands_off() {
        let node = Node::default();
        for (state, expected) in [
            ("provisioned", Next::Tell("deprovisioning")),
            ("deprovisioning", Next::Clean(None)),
            ("registering", Next::Clean(None)),
            (POWERING_OFF, Next::Tell("deleting")),
            ("deleting", Next::Release),
        ] {
            let host = deleted(host(state, &json!({"method": "m"})));
            assert_eq!(next(&host, None, &node), expected, "{state}");
        }
        let paused = deleted(annotated("provisioned", annotation::BMH_PAUSED, "x"));
        assert_eq!(next(&paused, None, &node), Next::Wait);
        let delay = r#"{"deleteAction":"delay"}"#;
        for (how, expected) in
            [(delay, Next::Operate(DETACHED)), ("assisted-service-controller", Next::Tell("deleting"))]
        {
            let host = deleted(annotated("provisioned", annotation::BMH_DETACHED, how));
            assert_eq!(next(&host, None, &node), expected, "{how}");
        }
        let mut released = deleted(host("deleting", &Value::Null));
        released["metadata"]["finalizers"] = json!(["other"]);
        assert_eq!(next(&released, None, &node), Next::Wait);
        assert_eq!(finalizers(&released, true)["metadata"]["finalizers"], json!(["other", FINALIZER]));
        released["metadata"]["finalizers"] = json!(["other", FINALIZER]);
        assert_eq!(finalizers(&released, false)["metadata"]["finalizers"], json!(["other"]));
    }

    #[test]
    fn a_status_tells_what_was_found_in_a_machine() {
        let card = |name: &str, mac: &str| json!({"name": name, "mac_address": mac});
        let inventory =
            json!({"hostname": "a", "interfaces": [card("lo", "00:00:00:00:00:00"), card("eth0", "m")]});
        let node = Node { inventory: Some(inventory), ..Node::default() };
        let host = host("provisioning", &json!({"method": "m"}));
        let status = told(&host, "provisioned", true, &node)["status"].take();
        assert_eq!(status["hardware"], json!({"hostname": "a", "nics": [{"name": "eth0", "mac": "m"}]}));
        assert_eq!(status["provisioning"]["customDeploy"], json!({"method": "m"}));
        assert_eq!(
            told(&host, "available", true, &node)["status"]["provisioning"]["customDeploy"],
            Value::Null
        );
    }
}
