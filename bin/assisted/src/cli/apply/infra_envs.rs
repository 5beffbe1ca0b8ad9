//! Infra-envs: created, or changed where they differ.

use assisted_console::Failure;
use assisted_kubeapi::SyncError;
use assisted_kubeapi::infra_env;
use assisted_wire::cluster::Cluster;
use assisted_wire::id::InfraEnvId;
use assisted_wire::infra_env::InfraEnv;

use super::clusters::MIRRORS;
use super::plan::PlannedInfraEnv;
use super::report::{Action, Applied, Difference, Mode};
use crate::cli::common::Context;

impl PlannedInfraEnv<'_> {
    /// Creates or changes the infra-env, which may be one of those that are there: its id, if it is there. `cluster` is the one that it is for, which a dry run may not have made.
    pub async fn apply(
        &self,
        context: &Context,
        there: &[InfraEnv],
        cluster: Option<&Option<Cluster>>,
        mode: Mode,
        applied: &mut Vec<Applied>,
    ) -> Result<Option<InfraEnvId>, Failure> {
        let wrong = |problem: SyncError| Failure::Usage(format!("{}: {problem}", self.object));
        let existing = match cluster {
            Some(None) => None,
            Some(Some(cluster)) => self.existing(there, Some(cluster))?,
            None => self.existing(there, None)?,
        };
        let (mut details, mut differences) = (Vec::new(), Vec::new());
        let (mut action, id) = match existing {
            Some(infra_env) => {
                let update = self.spec.update(infra_env).map_err(wrong)?;
                details.extend(update.changed.iter().map(|field| (*field).to_owned()));
                if mode.is_dry() {
                    differences = Difference::all(&update.changed, infra_env, &update.params);
                } else {
                    // Also when nothing differs: the registry credentials can't be compared.
                    context.client.update_infra_env(infra_env.id, &update.params).await?;
                }
                let action = if details.is_empty() { Action::Unchanged } else { Action::change(mode) };
                (action, Some(infra_env.id))
            }
            None => {
                if self.spec.networks() > 0 {
                    details.push(format!("static networks: {}", self.spec.networks()));
                }
                let id = if mode.is_dry() {
                    None
                } else {
                    let cluster = cluster.and_then(Option::as_ref).map(|cluster| infra_env::Cluster {
                        id: cluster.id,
                        openshift_version: cluster.openshift_version.clone(),
                    });
                    let params = self.spec.create(cluster.as_ref()).map_err(wrong)?;
                    Some(context.client.register_infra_env(&params).await?.id)
                };
                (Action::creation(mode), id)
            }
        };
        if let (Some(mirrors), Some(id)) = (&self.mirror_registry, id)
            && context.client.infra_env_mirror_registry(id).await? != *mirrors
        {
            if !mode.is_dry() {
                context.client.set_infra_env_mirror_registry(id, mirrors).await?;
            }
            if action == Action::Unchanged {
                action = Action::change(mode);
            }
            details.push(MIRRORS.to_owned());
        }
        details.extend(
            self.spec.without_effect().into_iter().map(|field| format!("{field} has no effect here")),
        );
        let object = self.object.clone();
        applied.push(Applied { object, action, id: id.map(|id| id.to_string()), details, differences });
        Ok(id)
    }

    /// The infra-env of this name; an infra-env can't go from one cluster to another.
    fn existing<'b>(
        &self,
        there: &'b [InfraEnv],
        cluster: Option<&Cluster>,
    ) -> Result<Option<&'b InfraEnv>, Failure> {
        let name = self.spec.name();
        let is_it = |infra_env: &&InfraEnv| {
            infra_env.name == name && infra_env.cluster_id == cluster.map(|cluster| cluster.id)
        };
        let mut found = there.iter().filter(is_it);
        match found.clone().count() {
            0 | 1 => Ok(found.next()),
            several => Err(Failure::Refused(format!(
                "{}: {several} infra-envs of that cluster are called {name}, and which one is meant can't be told; \
                 delete those that are not, with `assisted infra-env delete ID`",
                self.object
            ))),
        }
    }
}
