//! Where what belongs to an infra-env is found: the addresses that its object of the Kubernetes API shows (kube-api §8).

use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_wire::id::InfraEnvId;
use assisted_wire::operation::BASE_PATH;

use super::InfraEnvs;
use super::ipxe::{BootFiles, query};
use crate::Error;
use crate::attempt::final_error;
use crate::not_found::no_infra_env;

/// Addresses, each with the token that opens it where one is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    pub events: String,
    pub static_network: String,
    /// Empty without an image service, as are those that follow.
    pub kernel: String,
    pub initrd: String,
    pub rootfs: String,
    pub ipxe_script: String,
    pub discovery_ignition: String,
}

impl InfraEnvs {
    /// The addresses. `boot_order_control` is about the script: a machine is asked for its address first, so that one that is
    /// installed boots from its disk.
    ///
    /// # Errors
    ///
    /// 404 when there is no such infra-env, 400 when there is no image for it.
    pub async fn links(&self, id: InfraEnvId, boot_order_control: bool) -> Result<Links, Error> {
        let stored =
            self.database.known_infra_env(id).await.map_err(final_error)?.ok_or_else(|| no_infra_env(id))?;
        let record = &stored.record;
        let id = id.to_string();
        let mut links = Links {
            events: self.link(record, "/v2/events", &[("infra_env_id", &id)]),
            static_network: self.file(record, &[("file_name", "static-network-config")]),
            ..Links::default()
        };
        if !self.settings.http.enable_image_service {
            return Ok(links);
        }
        let BootFiles { kernel, initrd, rootfs } = self.boot_files(record)?;
        (links.kernel, links.initrd, links.rootfs) = (kernel, initrd, rootfs);
        let kind = if boot_order_control { "boot-order-control" } else { "" };
        let script = self.file(record, &[("file_name", "ipxe-script"), ("ipxe_script_type", kind)]);
        links.ipxe_script = self.reachable(&script);
        links.discovery_ignition = self.file(record, &[("file_name", "discovery.ign")]);
        Ok(links)
    }

    fn file(&self, record: &InfraEnvRecord, members: &[(&'static str, &str)]) -> String {
        let path = format!("/v2/infra-envs/{}/downloads/files", record.infra_env.id);
        self.link(record, &path, members)
    }

    fn link(&self, record: &InfraEnvRecord, path: &str, members: &[(&'static str, &str)]) -> String {
        let base = self.settings.http.service_base_url.trim_end_matches('/');
        let token = self.access.token_of(record).map(|token| ("api_key", token));
        let members = members.iter().map(|(name, value)| (*name, (*value).to_owned()));
        format!("{base}{BASE_PATH}{path}?{}", query(members.chain(token)))
    }
}
