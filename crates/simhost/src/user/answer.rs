//! What the answers of the service mean to a user.

use assisted_wire::cluster::ClusterStatus;
use assisted_wire::host::HostStatus;
use assisted_wire::id::{ClusterId, InfraEnvId};
use assisted_wire::operation::BASE_PATH;
use hyper::Method;
use serde_json::json;

use super::request::merge;
use super::view::{ClusterReply, ClusterView, HostView, id, reason, roles};
use super::{ATTEMPTS, Context, Phase, Transition, User};
use crate::action::{ActionSink, Call, Response};
use crate::fault::{Fault, FaultTarget, Trigger};
use crate::plan::Goal;

impl User {
    /// The service has answered.
    pub fn answered(&mut self, answer: &Response, context: &Context<'_>, out: &mut ActionSink) -> Transition {
        match self.phase {
            Phase::CreatesCluster => self.cluster_created(answer, context, out),
            Phase::CreatesInfraEnv => match id(answer) {
                Ok(id) => {
                    self.infra_env_id = Some(InfraEnvId(id));
                    self.poll_later(context, out);
                    return Transition::InfraEnv(InfraEnvId(id));
                }
                Err(trouble) => self.end(Some(format!("no infra-env: {trouble}")), out),
            },
            Phase::Polls => {
                self.seen(answer, context, out);
                use ClusterStatus::{Installing, PreparingForInstallation};
                let begun = matches!(self.look.status, Some(PreparingForInstallation | Installing));
                // The answer was lost, and who asks once more is refused: it has begun all the same.
                if begun && !self.installing && self.attempts > 0 {
                    self.installing = true;
                    return Transition::Installing(roles(answer));
                }
                // Someone else has opened the cluster for the hosts that are added.
                let opened = self.look.status == Some(ClusterStatus::AddingHosts);
                if opened && context.grows() && self.added.is_none() {
                    self.added = Some(0);
                    return self.infra_env_id.map_or(Transition::None, Transition::Open);
                }
            }
            Phase::SetsHost(place) => {
                if !answer.is_success() {
                    self.end(Some(format!("a host can't be set up: {}", reason(answer))), out);
                } else if self.added.is_some() {
                    self.install_host(place, context, out);
                } else if !self.set_host(place + 1, context, out) {
                    self.poll_later(context, out);
                }
            }
            Phase::SetsNetwork => {
                if answer.is_success() {
                    self.poll_later(context, out);
                } else {
                    self.end(Some(format!("the network can't be set up: {}", reason(answer))), out);
                }
            }
            Phase::Installs => return self.installation_answered(answer, context, out),
            Phase::Cancels if answer.is_done() => self.poll_later(context, out),
            Phase::Cancels => self.end(Some(format!("it can't be cancelled: {}", reason(answer))), out),
            Phase::Resets if answer.is_done() => {
                // Everything is as before the installation, but for what the user has set up.
                (self.installing, self.attempts) = (false, 0);
                self.poll_later(context, out);
                return self.infra_env_id.map_or(Transition::None, Transition::Reset);
            }
            Phase::Resets => self.end(Some(format!("it can't be reset: {}", reason(answer))), out),
            Phase::Opens if answer.is_done() => {
                self.added = Some(0);
                self.poll_later(context, out);
                return self.infra_env_id.map_or(Transition::None, Transition::Open);
            }
            Phase::Opens => self.end(Some(format!("no host can be added: {}", reason(answer))), out),
            Phase::InstallsHost(place) => {
                if answer.is_done() {
                    self.added = Some(place + 1 - context.plan.shape.hosts);
                    self.poll_later(context, out);
                } else {
                    self.end(Some(format!("a host can't be added: {}", reason(answer))), out);
                }
            }
            Phase::Ended => {}
        }
        Transition::None
    }

    fn seen(&mut self, answer: &Response, context: &Context<'_>, out: &mut ActionSink) {
        if answer.status == 404 {
            return self.end(Some("the cluster was deleted".to_owned()), out);
        }
        let Ok(seen) = serde_json::from_slice::<ClusterReply>(&answer.body) else {
            return self.poll_later(context, out);
        };
        let interferes = self.is_to_interfere(context, &seen);
        let look = ClusterView::from(seen);
        if look != self.look {
            self.look = look;
            self.quiet_since = out.now;
        }
        let Some(status) = self.look.status else { return };
        let hosts = self.look.hosts.values().sum::<u32>();
        let known = |state| self.look.hosts.get(&state).copied().unwrap_or_default();
        let judged = hosts >= context.plan.shape.hosts && known(HostStatus::Discovering) == 0;
        let all_known = known(HostStatus::Known) == hosts;
        let quiet = out.now.saturating_sub(self.quiet_since) > context.plan.settle;
        if self.installing && interferes {
            return self.interfere(context, out);
        }
        match status {
            ClusterStatus::Installed if context.grows() && context.plan.hosts_only => {
                self.poll_later(context, out);
            }
            ClusterStatus::Installed if context.grows() => {
                self.phase = Phase::Opens;
                self.send(Method::POST, "/actions/allow-add-hosts", &json!({}), out);
            }
            ClusterStatus::AddingHosts => self.add(context, quiet, out),
            ClusterStatus::Installed | ClusterStatus::Error | ClusterStatus::Cancelled => self.end(None, out),
            // The preparation has failed.
            ClusterStatus::Ready | ClusterStatus::Insufficient if self.installing => self.end(None, out),
            ClusterStatus::Ready
                if context.plan.hosts_only && all_known && context.plan.goal == Goal::Ready =>
            {
                self.end(None, out);
            }
            ClusterStatus::Ready | ClusterStatus::Insufficient | ClusterStatus::PendingForInput
                if judged && !context.plan.hosts_only =>
            {
                if !self.hosts_set {
                    self.hosts_set = true;
                    if self.set_host(0, context, out) {
                        return;
                    }
                }
                if status == ClusterStatus::PendingForInput && !self.network_set {
                    return self.set_network(context, out);
                }
                if status == ClusterStatus::Ready && all_known {
                    match context.plan.goal {
                        Goal::Ready => return self.end(None, out),
                        Goal::Installed => return self.install(out),
                    }
                }
                if quiet {
                    return self.end(None, out);
                }
                self.poll_later(context, out);
            }
            _ => self.poll_later(context, out),
        }
    }

    /// The cluster is there, and gets its infra-env.
    fn cluster_created(&mut self, answer: &Response, context: &Context<'_>, out: &mut ActionSink) {
        let id = match id(answer) {
            Ok(id) => id,
            Err(trouble) => return self.end(Some(format!("no cluster: {trouble}")), out),
        };
        self.cluster_id = Some(ClusterId(id));
        self.phase = Phase::CreatesInfraEnv;
        let plan = context.plan;
        let mut body = json!({
            "name": plan.cluster_name(self.index), "openshift_version": plan.version,
            "pull_secret": plan.pull_secret, "cluster_id": id,
        });
        merge(&mut body, plan.shape.platform.infra_env_fields());
        out.send(Call::json(self.process(), Method::POST, format!("{BASE_PATH}/v2/infra-envs"), &body));
    }

    /// The installation begins, or is asked for again later.
    fn installation_answered(
        &mut self,
        answer: &Response,
        context: &Context<'_>,
        out: &mut ActionSink,
    ) -> Transition {
        self.installing = answer.is_success();
        if self.installing {
            self.poll_later(context, out);
            return Transition::Installing(roles(answer));
        }
        self.attempts += 1;
        if self.attempts >= ATTEMPTS || answer.status == 501 {
            self.end(Some(format!("the installation is refused: {}", reason(answer))), out);
        } else {
            self.poll_later(context, out);
        }
        Transition::None
    }

    /// Whether it is time to cancel or reset the installation, as far as the cluster shows it.
    fn is_to_interfere(&self, context: &Context<'_>, seen: &ClusterReply) -> bool {
        let Some(Fault { trigger, target, .. }) = context.fault(self.index) else { return false };
        let waited_for = |host: &HostView| match target {
            FaultTarget::Role(role) => host.role() == Some(role),
            FaultTarget::Drawn | FaultTarget::NetworkAddress(_) => true,
        };
        let comes = match trigger {
            Trigger::Discovery => false,
            Trigger::Preparing => seen.status == ClusterStatus::PreparingForInstallation,
            Trigger::Stage(stage) => {
                let mut hosts = seen.hosts.iter().flatten().filter(|host| waited_for(host));
                hosts.any(|host| host.stage() == Some(stage))
            }
            Trigger::Finalizing => seen.status == ClusterStatus::Finalizing,
        };
        !self.has_interfered && (comes || self.interferes)
    }
}
