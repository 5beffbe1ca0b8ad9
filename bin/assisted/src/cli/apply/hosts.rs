//! Hosts that have registered get what their BareMetalHosts say.

use assisted_console::Failure;
use assisted_wire::host::Host;
use assisted_wire::host_params::{HostIgnitionParams, HostUpdateParams, InstallerArgsParams};
use assisted_wire::id::InfraEnvId;
use assisted_wire::inventory::Inventory;

use super::plan::PlannedHost;
use super::report::{Action, Applied, Difference, Mode};
use crate::cli::common::{Context, inventory};

/// The hosts of the manifests, by the infra-envs that they register with.
pub struct Hosts<'a> {
    hosts: Vec<(&'a PlannedHost<'a>, Option<InfraEnvId>)>,
}

impl<'a> Hosts<'a> {
    /// `infra_envs` are the ids of the manifests' infra-envs; a dry run may not have made them.
    pub fn new(planned: &'a [PlannedHost<'a>], infra_envs: &[Option<InfraEnvId>]) -> Self {
        let id = |host: &PlannedHost<'_>| infra_envs.get(host.infra_env).copied().flatten();
        Self { hosts: planned.iter().map(|host| (host, id(host))).collect() }
    }

    /// Changes the hosts that are there and differ: what became of each.
    pub async fn apply(&self, context: &Context, mode: Mode) -> Result<Vec<Applied>, Failure> {
        let mut ids: Vec<_> = self.hosts.iter().filter_map(|(_, id)| *id).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut there = Vec::new();
        for id in ids {
            for host in context.client.list_hosts(id).await? {
                if let Some(inventory) = inventory(&host) {
                    there.push((id, host, inventory));
                }
            }
        }
        let mut applied = Vec::new();
        for (planned, infra_env) in &self.hosts {
            let found =
                there.iter().find(|(id, _, inventory)| Some(*id) == *infra_env && planned.spec.is(inventory));
            applied.push(match found {
                Some((id, host, inventory)) => planned.apply(context, *id, host, inventory, mode).await?,
                None => Applied {
                    object: planned.object.clone(),
                    action: Action::NotThere,
                    id: None,
                    differences: Vec::new(),
                    details: vec![format!(
                        "no host with the interface {} has registered",
                        planned.spec.mac()
                    )],
                },
            });
        }
        Ok(applied)
    }
}

impl PlannedHost<'_> {
    async fn apply(
        &self,
        context: &Context,
        infra_env: InfraEnvId,
        host: &Host,
        inventory: &Inventory,
        mode: Mode,
    ) -> Result<Applied, Failure> {
        let update = self.spec.update(host, inventory);
        if !mode.is_dry() {
            let client = &context.client;
            if update.params != HostUpdateParams::default() {
                client.update_host(infra_env, host.id, &update.params).await?;
            }
            if update.installer_args.is_some() {
                let params = InstallerArgsParams { args: update.installer_args.clone() };
                client.update_host_installer_args(infra_env, host.id, &params).await?;
            }
            if let Some(config) = update.ignition.clone() {
                client.update_host_ignition(infra_env, host.id, &HostIgnitionParams { config }).await?;
            }
        }
        let action = if update.changed.is_empty() { Action::Unchanged } else { Action::change(mode) };
        let mut details: Vec<_> = update.changed.iter().map(|field| (*field).to_owned()).collect();
        details
            .extend(self.spec.without_effect().into_iter().map(|name| format!("{name} has no effect here")));
        let id = Some(host.id.to_string());
        let differences = match mode.is_dry() {
            true => Difference::all(&update.changed, host, &update.params),
            false => Vec::new(),
        };
        Ok(Applied { object: self.object.clone(), action, id, details, differences })
    }
}
