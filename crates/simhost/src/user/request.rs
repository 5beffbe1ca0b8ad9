//! What a user asks of the service.

use assisted_wire::host::HostStatus;
use hyper::Method;
use serde_json::{Value, json};

use super::{Context, Phase, User};
use crate::action::{ActionSink, Call};
use crate::fault::FaultKind;
use crate::host;
use crate::network::{Network, networks};
use crate::topology::Build;

impl User {
    pub(super) fn interfere(&mut self, context: &Context<'_>, out: &mut ActionSink) {
        self.has_interfered = true;
        let resets = context.fault(self.index).is_some_and(|fault| fault.kind == FaultKind::Reset);
        let what = if resets { "/actions/reset" } else { "/actions/cancel" };
        self.phase = if resets { Phase::Resets } else { Phase::Cancels };
        self.send(Method::POST, what, &json!({}), out);
    }

    /// Has one added host after the other installed, as soon as all of them can be, unless someone else does.
    pub(super) fn add(&mut self, context: &Context<'_>, quiet: bool, out: &mut ActionSink) {
        let wanted = context.plan.all_hosts() - context.plan.shape.hosts;
        let known = |state| self.look.hosts.get(&state).copied().unwrap_or_default();
        let started = self.added.unwrap_or_default();
        let installs = !context.plan.hosts_only;
        if installs && started < wanted && known(HostStatus::Known) + started >= wanted {
            let place = context.plan.shape.hosts + started;
            match context.plan.shape.build(place) {
                Build::ControlPlane => self.patch_host(place, context, &json!({"host_role": "master"}), out),
                Build::Worker | Build::Arbiter => self.install_host(place, context, out),
            }
        } else if known(HostStatus::AddedToExistingCluster) >= wanted || (installs && quiet) {
            self.end(None, out);
        } else {
            self.poll_later(context, out);
        }
    }

    pub(super) fn host_path(&self, place: u32, context: &Context<'_>) -> String {
        let own = context.plan.infra_envs.get(place as usize).copied();
        let infra_env = own.or(self.infra_env_id).unwrap_or_default();
        host::path(infra_env, context.plan.first_host(self.index) + place)
    }

    pub(super) fn patch_host(
        &mut self,
        place: u32,
        context: &Context<'_>,
        fields: &Value,
        out: &mut ActionSink,
    ) {
        self.phase = Phase::SetsHost(place);
        out.send(Call::json(self.process(), Method::PATCH, self.host_path(place, context), fields));
    }

    pub(super) fn install_host(&mut self, place: u32, context: &Context<'_>, out: &mut ActionSink) {
        self.phase = Phase::InstallsHost(place);
        let path = self.host_path(place, context) + "/actions/install";
        out.send(Call::json(self.process(), Method::POST, path, &json!({})));
    }

    /// Sets up the next host that needs it, from a place on; false if none does.
    pub(super) fn set_host(&mut self, from: u32, context: &Context<'_>, out: &mut ActionSink) -> bool {
        let shape = context.plan.shape;
        let needed = (from..shape.hosts).map(|place| (place, shape.topology.host_fields(place, shape.hosts)));
        let Some((place, fields)) = needed.into_iter().find(|(_, fields)| *fields != json!({})) else {
            return false;
        };
        self.patch_host(place, context, &fields, out);
        true
    }

    pub(super) fn set_network(&mut self, context: &Context<'_>, out: &mut ActionSink) {
        self.network_set = true;
        self.phase = Phase::SetsNetwork;
        let site = context.site;
        let ips = |address| site.both(address).map(|ip| json!({ "ip": ip })).collect::<Value>();
        let chosen = context.plan.shape.has_vips() && context.plan.shape.network != Network::DhcpVips;
        let body = match chosen {
            true => json!({"api_vips": ips(site.api()), "ingress_vips": ips(site.ingress())}),
            false => json!({"machine_networks": networks(site)}),
        };
        self.send(Method::PATCH, "", &body, out);
    }

    pub(super) fn install(&mut self, out: &mut ActionSink) {
        self.phase = Phase::Installs;
        self.send(Method::POST, "/actions/install", &json!({}), out);
    }
}

/// Adds fields to an object.
pub(super) fn merge(into: &mut Value, fields: Value) {
    if let (Value::Object(into), Value::Object(fields)) = (into, fields) {
        into.extend(fields);
    }
}
