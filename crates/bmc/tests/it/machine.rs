//! Power, medium and what is booted next.

use assisted_bmc::{Access, Machine, Power, RedfishError, Trust};
use assisted_testkit::ManagementController;
use tempfile::TempDir;
use uuid::Uuid;

use crate::medium;

struct Bench {
    controller: ManagementController,
    _dir: TempDir,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let uuid = Uuid::new_v4().to_string();
        let controller = ManagementController::start(&uuid, "52:54:00:7e:10:01", None, dir.path()).unwrap();
        Self { controller, _dir: dir }
    }

    fn access(&self) -> Access {
        Access {
            system: self.controller.system.clone(),
            user: ManagementController::USER.to_owned(),
            password: ManagementController::PASSWORD.into(),
            trust: Trust::System,
        }
    }

    /// What the controller says of a resource, by way of another client.
    async fn resource(&self, path: &str) -> serde_json::Value {
        let client = assisted_base::http::builder("test", Trust::System, &assisted_base::http::Proxies::None);
        let request = client.unwrap().build().unwrap().get(path);
        let request = request.basic_auth(ManagementController::USER, Some(ManagementController::PASSWORD));
        serde_json::from_slice(&request.send().await.unwrap().bytes().await.unwrap()).unwrap()
    }
}

#[tokio::test]
async fn a_machine_boots_a_medium_once() {
    let bench = Bench::new();
    let machine = Machine::connect(&bench.access()).await.unwrap();
    assert_eq!(machine.power().await.unwrap(), Power::Off);
    let image = medium::image();
    machine.boot_medium(&image).await.unwrap_or_else(|error| panic!("{error}\n{}", bench.controller.log()));
    assert_eq!(machine.power().await.unwrap(), Power::On);
    let system = bench.resource(&bench.controller.system).await;
    assert_eq!(system["Boot"]["BootSourceOverrideTarget"], "Cd", "{system:#}");
    let origin = bench.controller.system.split("/redfish").next().unwrap_or_default();
    let at = |link: &serde_json::Value| format!("{origin}{}", link["@odata.id"].as_str().unwrap());
    // The emulator has one drive for CDs, beside others.
    let drives = bench.resource(&at(&system["VirtualMedia"])).await;
    let mut drive = String::new();
    for member in drives["Members"].as_array().unwrap() {
        let kinds = bench.resource(&at(member)).await["MediaTypes"].clone();
        if drive.is_empty() && kinds.as_array().unwrap().iter().any(|kind| kind == "CD" || kind == "DVD") {
            drive = at(member);
        }
    }
    let inserted = bench.resource(&drive).await;
    assert!(inserted["Inserted"] == true && inserted["Image"] == image.as_str(), "{inserted:#}");

    // Once more, while it runs and with a medium in the drive: both give way.
    machine.boot_medium(&image).await.unwrap();
    machine.eject_medium().await.unwrap();
    machine.eject_medium().await.unwrap();
    assert_eq!(bench.resource(&drive).await["Inserted"], false);
    machine.reset().await.unwrap();
    machine.power_off().await.unwrap();
    machine.power_off().await.unwrap();
    assert_eq!(machine.power().await.unwrap(), Power::Off);
}

#[tokio::test]
async fn a_controller_that_refuses_is_quoted() {
    let bench = Bench::new();
    let wrong = Access { password: "guess".into(), ..bench.access() };
    let error = Machine::connect(&wrong).await.unwrap_err();
    let log = bench.controller.log();
    assert!(
        matches!(&error, RedfishError::Refused { status, .. } if status.as_u16() == 401),
        "{error}; the log of the emulator:\n{log}"
    );
    assert!(!error.to_string().contains("guess") && !format!("{wrong:?}").contains("guess"), "{error}");

    let machine = Machine::connect(&bench.access()).await.unwrap();
    let gone = medium::image().replace("small", "large");
    let error = machine.boot_medium(&gone).await.unwrap_err();
    assert!(
        matches!(&error, RedfishError::Refused { said, .. } if said.contains("virtual media")),
        "{error}"
    );
    assert_eq!(machine.power().await.unwrap(), Power::Off, "it does not boot without its medium");
}

#[tokio::test]
async fn what_is_no_controller_is_told() {
    let bench = Bench::new();
    let system = bench.controller.system.replace("/redfish/v1/Systems/", "/redfish/v1/Chassis/");
    let error = Machine::connect(&Access { system, ..bench.access() }).await.unwrap_err();
    assert!(matches!(error, RedfishError::Refused { .. } | RedfishError::Missing { .. }), "{error}");
    let system = "http://127.0.0.1:1/redfish/v1/Systems/1".to_owned();
    let error = Machine::connect(&Access { system, ..bench.access() }).await.unwrap_err();
    assert!(matches!(error, RedfishError::Unreachable { .. }), "{error}");
    let system = "127.0.0.1".to_owned();
    let error = Machine::connect(&Access { system, ..bench.access() }).await.unwrap_err();
    assert!(matches!(error, RedfishError::Settings { .. }), "{error}");
}
