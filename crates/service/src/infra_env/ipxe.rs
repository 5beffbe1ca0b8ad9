//! Scripts with which iPXE boots the discovery image (image-service §5).

use assisted_core::admission::field::kernel_arguments::is_harmless;
use assisted_core::catalogue::release::os_image;
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_core::model::refusal::{Refusal, RefusalKind};
use assisted_store::{HostFilter, Reports};
use assisted_wire::embedded;
use assisted_wire::host::{Host, HostStage, HostStatus};
use assisted_wire::infra_env::KernelArguments;
use assisted_wire::inventory::Inventory;
use assisted_wire::operation::BASE_PATH;
use url::Url;

use super::InfraEnvs;
use super::discovery::architecture;
use crate::Error;
use crate::view::host::raw_host;

/// What the kernel of the discovery image is told.
const ARGUMENTS: &str = "random.trust_cpu=on rd.luks.options=discard ignition.firstboot ignition.platform.id=metal \
                         console=tty1 console=ttyS1,115200n8 coreos.inst.persistent-kargs=\"console=tty1 console=ttyS1,115200n8\"";

/// Which script is asked for.
#[derive(Clone, Debug, Default)]
pub struct IpxeScript {
    /// MAC address of the machine that asks.
    pub mac: Option<String>,
    /// Whether a machine is asked for its address first, so that one that is installed boots from its disk.
    pub boot_order_control: bool,
}

/// Where the files are that a machine boots from without an ISO.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BootFiles {
    pub(super) kernel: String,
    pub(super) initrd: String,
    pub(super) rootfs: String,
}

impl InfraEnvs {
    /// The script for a machine.
    pub(super) async fn ipxe_script(
        &self,
        record: &InfraEnvRecord,
        query: &IpxeScript,
    ) -> Result<String, Error> {
        match &query.mac {
            None if query.boot_order_control => return self.redirect(record),
            None => {}
            Some(mac) => {
                let filter = HostFilter {
                    infra_env_id: Some(record.infra_env.id),
                    reports: Reports::All,
                    ..HostFilter::default()
                };
                let hosts = self.database.hosts(&filter).await?;
                skip_installed(&hosts.iter().map(raw_host).collect::<Vec<_>>(), mac)?;
            }
        }
        self.boot_script(record)
    }

    fn boot_script(&self, record: &InfraEnvRecord) -> Result<String, Error> {
        let infra_env = &record.infra_env;
        let BootFiles { kernel, initrd, rootfs } = self.boot_files(record)?;
        let further = kernel_arguments(infra_env.kernel_arguments.as_deref()).map_err(Error::internal)?;
        Ok(format!(
            "#!ipxe\ninitrd --name initrd {initrd}\nkernel {kernel} initrd=initrd coreos.live.rootfs_url={rootfs} \
             {ARGUMENTS}{further}\nboot\n"
        ))
    }

    /// Where the files are that the script leads to.
    pub(super) fn boot_files(&self, record: &InfraEnvRecord) -> Result<BootFiles, Refusal> {
        let infra_env = &record.infra_env;
        let images = &self.database.policy().versions.os_images.0;
        let (version, wanted) = (&infra_env.openshift_version, architecture(infra_env));
        let image = if version.is_empty() {
            os_image::latest(images, wanted)
        } else {
            os_image::find(images, version, wanted)
        };
        let image = image.map_err(Refusal::invalid)?;
        let base = self.settings.http.image_service_base_url.trim_end_matches('/').to_owned();
        let of_image =
            [("arch", image.cpu_architecture.to_string()), ("version", image.openshift_version.clone())];
        let at = |path: &str, token: Option<(&'static str, String)>| {
            self.reachable(&format!("{base}{path}?{}", query(of_image.iter().cloned().chain(token))))
        };
        let token = self.access.signature(record).parameter();
        let initrd = at(&format!("/images/{}/pxe-initrd", infra_env.id), token);
        let (kernel, rootfs) = (at("/boot-artifacts/kernel", None), at("/boot-artifacts/rootfs", None));
        Ok(BootFiles { kernel, initrd, rootfs })
    }

    /// Asks again with the machine's own address.
    fn redirect(&self, record: &InfraEnvRecord) -> Result<String, Error> {
        let base = &self.settings.http.service_base_url;
        let mut url = Url::parse(base).map_err(|_| {
            Refusal::new(
                RefusalKind::Unavailable,
                "SERVICE_BASE_URL is no address: machines would not find the service",
            )
        })?;
        let id = record.infra_env.id;
        url.set_path(&format!("{BASE_PATH}/v2/infra-envs/{id}/downloads/files"));
        let token = self.access.signature(record).parameter();
        let file = ("file_name", "ipxe-script".to_owned());
        url.set_query(Some(&query(token.into_iter().chain([file]))));
        let plain = self.settings.http.http_listen_port.parse().ok();
        // Where a port stands, it is the one that speaks TLS.
        if let (Some(plain), "https", Some(_)) = (plain, url.scheme(), url.port()) {
            // Refused by addresses without a host only.
            let _ = url.set_port(Some(plain));
        }
        Ok(format!("#!ipxe\nchain {}&mac=${{net0/mac}}\n", self.reachable(url.as_str())))
    }

    /// Where there is a listener for it, firmware is spared TLS.
    pub(super) fn reachable(&self, url: &str) -> String {
        match url.strip_prefix("https://") {
            Some(rest) if !self.settings.http.http_listen_port.is_empty() => format!("http://{rest}"),
            _ => url.to_owned(),
        }
    }
}

/// In alphabetical order, as clients that compare URLs expect; what is empty is left out.
pub(super) fn query(members: impl IntoIterator<Item = (&'static str, String)>) -> String {
    let mut members: Vec<_> = members.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    members.sort();
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(members).finish()
}

fn kernel_arguments(stored: Option<&str>) -> Result<String, serde_json::Error> {
    let arguments: KernelArguments = embedded::read(stored.unwrap_or_default())?.unwrap_or_default();
    // Those of an earlier release were not checked.
    let harmless = arguments.0.iter().filter(|argument| is_harmless(&argument.value));
    Ok(harmless.map(|argument| format!(" {}", argument.value)).collect())
}

/// A machine that is installed is left to its disk.
fn skip_installed(hosts: &[Host], mac: &str) -> Result<(), Refusal> {
    let (lower, upper) = (mac.to_ascii_lowercase(), mac.to_ascii_uppercase());
    // Most inventories need not be read to know.
    let mentions = |host: &&Host| host.inventory.contains(&lower) || host.inventory.contains(&upper);
    let found: Vec<&Host> = hosts.iter().filter(mentions).filter(|host| has_interface(host, mac)).collect();
    let host = match found.as_slice() {
        [] => return Ok(()),
        [host] => *host,
        several => {
            return Err(Refusal::new(
                RefusalKind::Internal,
                format!("Unexpected number of hosts {} with mac {mac}", several.len()),
            ));
        }
    };
    let skipped = |state: String| {
        let infra_env = host.infra_env_id.map(|id| id.to_string()).unwrap_or_default();
        Refusal::not_found(format!(
            "IPXE booting skipped. InfraEnv {infra_env}: host {} having mac {mac} is {state}",
            host.id
        ))
    };
    if host.status == HostStatus::Installed {
        return Err(skipped("already installed".to_owned()));
    }
    match host.stage().filter(|_| host.status == HostStatus::InstallingInProgress) {
        Some(
            stage @ (HostStage::Done
            | HostStage::Configuring
            | HostStage::Joined
            | HostStage::Rebooting
            | HostStage::WaitingForIgnition),
        ) => Err(skipped(format!("in stage {stage}"))),
        _ => Ok(()),
    }
}

/// Whether a host has an interface with an address; one elsewhere in what it reports is not its own.
fn has_interface(host: &Host, mac: &str) -> bool {
    let inventory: Option<Inventory> = embedded::read(&host.inventory).ok().flatten();
    let interfaces = inventory.and_then(|inventory| inventory.interfaces).unwrap_or_default();
    interfaces.iter().any(|interface| interface.mac_address.eq_ignore_ascii_case(mac))
}

#[cfg(test)]
mod tests {
    use assisted_wire::id::HostId;

    use super::*;

    #[test]
    fn an_address_that_a_host_only_mentions_is_not_its_own() {
        let host = |inventory: serde_json::Value| -> Host {
            serde_json::from_value(serde_json::json!({
                "kind": "Host", "id": HostId::random(), "href": "", "status": "installed", "status_info": "",
                "inventory": inventory.to_string(),
            }))
            .unwrap()
        };
        let mac = "52:54:00:00:00:01";
        let own = || host(serde_json::json!({"interfaces": [{"name": "eth0", "mac_address": mac}]}));
        let hostile = || host(serde_json::json!({"hostname": mac, "interfaces": [{"name": mac}]}));
        assert_eq!(skip_installed(&[own(), hostile()], mac).unwrap_err().kind, RefusalKind::NotFound);
        skip_installed(&[hostile(), hostile()], mac).unwrap();
        assert_eq!(
            skip_installed(&[own(), own()], &mac.to_uppercase()).unwrap_err().kind,
            RefusalKind::Internal
        );
    }

    #[test]
    fn arguments() {
        let stored = r#"[{"operation":"append","value":"a=\"b c\""},{"operation":"append","value":"d"}]"#;
        assert_eq!(kernel_arguments(Some(stored)).unwrap(), " a=\"b c\" d");
        assert_eq!(kernel_arguments(None).unwrap(), "");
        let stored = r#"[{"operation":"append","value":"a=\"\nchain http://x/y\n\""},{"operation":"append","value":"&&"},
            {"operation":"append","value":"d"}]"#;
        assert_eq!(kernel_arguments(Some(stored)).unwrap(), " d");
    }

    #[test]
    fn queries() {
        let members =
            [("version", "4.20".to_owned()), ("arch", "x86_64".to_owned()), ("api_key", String::new())];
        assert_eq!(query(members), "arch=x86_64&version=4.20");
    }
}
