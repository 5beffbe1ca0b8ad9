"""Drives the service with the published client: create, list, read, update and delete each resource.

The client checks every answer against its own models: a missing required field or a foreign enum value raises.
"""

import json
import sys
import time

from assisted_service_client import ApiClient, Configuration, api, models
from assisted_service_client.rest import ApiException

PULL_SECRET = '{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz","email":"user@example.com"}}}'

# A host that runs another agent is told to upgrade first.
AGENT_IMAGE = "quay.io/assisted/assisted-installer-agent:latest"

configuration = Configuration()
configuration.host = sys.argv[1] + "/api/assisted-install"
client = ApiClient(configuration)
installer = api.InstallerApi(client)
events = api.EventsApi(client)
versions = api.VersionsApi(client)


def check(what, holds):
    if not holds:
        raise SystemExit(f"{what}: does not hold")


def refused(status, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except ApiException as error:
        check(f"status {error.status} is {status}", error.status == status)
        return json.loads(error.body)
    raise SystemExit(f"{call.__name__} was not refused with {status}")


def register(infra_env_id, host_id):
    installer.v2_register_host(
        infra_env_id, models.HostCreateParams(host_id=host_id, discovery_agent_version=AGENT_IMAGE)
    )


def tell_inventory(infra_env_id, host_id):
    steps = installer.v2_get_next_steps(infra_env_id, host_id).instructions
    asked = [step.step_id for step in steps if step.step_type == "inventory"]
    check(f"a new host is asked for its inventory once: {steps}", len(asked) == 1)
    with open(sys.argv[2], encoding="utf-8") as file:
        inventory = file.read()
    reply = models.StepReply(step_type="inventory", step_id=asked[0], exit_code=0, output=inventory)
    installer.v2_post_step_reply(infra_env_id, host_id, reply=reply)
    return inventory


def switch(method, infra_env_id, host_id):
    """Disables or enables a host, which the client has no operation for."""
    path = f"/v2/infra-envs/{infra_env_id}/hosts/{host_id}/actions/enable"
    return client.call_api(path, method, response_type="Host", _return_http_data_only=True)


def reaches(infra_env_id, host_id, *statuses):
    """Waits until the host has one of the states; each answer is read as a host."""
    deadline = time.monotonic() + 30
    while (host := installer.v2_get_host(infra_env_id, host_id)).status not in statuses:
        if time.monotonic() > deadline:
            raise SystemExit(f"the host is {host.status} and not {statuses}: {host.status_info}")
        time.sleep(0.05)
    installer.v2_list_hosts(infra_env_id)


offered = versions.v2_list_supported_openshift_versions()
check("versions are offered", len(offered) > 0)
check("component versions are told", versions.v2_list_component_versions().versions is not None)
version = next(name for name, offer in offered.items() if offer.get("default"))
check("there are defaults", installer.v2_get_cluster_default_config().cluster_network_cidr)

cluster = installer.v2_register_cluster(
    models.ClusterCreateParams(
        name="stock", openshift_version=version, pull_secret=PULL_SECRET, base_dns_domain="example.com"
    )
)
check("the cluster has a name", cluster.name == "stock")
check("the pull secret is known", cluster.pull_secret_set)
check("the cluster is listed", cluster.id in [one["id"] for one in installer.v2_list_clusters()])
updated = installer.v2_update_cluster(cluster.id, models.V2ClusterUpdateParams(name="renamed"))
check("the cluster is renamed", updated.name == "renamed")
check("the new name is read", installer.v2_get_cluster(cluster.id).name == "renamed")

infra_env = installer.register_infra_env(
    models.InfraEnvCreateParams(name="stock", pull_secret=PULL_SECRET, cluster_id=cluster.id)
)
check("the infra-env is listed", infra_env.id in [one["id"] for one in installer.list_infra_envs()])
changed = installer.update_infra_env(
    infra_env.id, models.InfraEnvUpdateParams(additional_ntp_sources="time.example.com")
)
check("the infra-env is changed", changed.additional_ntp_sources == "time.example.com")
check("the change is read", installer.get_infra_env(infra_env.id).additional_ntp_sources == "time.example.com")

host_id = "11111111-2222-4333-8444-555555555555"
register(infra_env.id, host_id)
inventory = tell_inventory(infra_env.id, host_id)
host = installer.v2_get_host(infra_env.id, host_id)
check("the inventory is kept", json.loads(host.inventory)["hostname"] == json.loads(inventory)["hostname"])
check("the host is listed", host_id in [one["id"] for one in installer.v2_list_hosts(infra_env.id)])
named = installer.v2_update_host(infra_env.id, host_id, models.HostUpdateParams(host_name="worker-1"))
check("the host is named", named.requested_hostname == "worker-1")
found = events.v2_list_events(cluster_id=cluster.id)
check("events are told", any(event["name"] == "cluster_registration_succeeded" for event in found))

# A host of a pool, on its way into the cluster and out again; each agent registers anew where it is.
pool = installer.register_infra_env(models.InfraEnvCreateParams(name="pool", pull_secret=PULL_SECRET))
pooled = "22222222-2222-4333-8444-555555555555"
register(pool.id, pooled)
reaches(pool.id, pooled, "discovering-unbound")
tell_inventory(pool.id, pooled)
reaches(pool.id, pooled, "known-unbound")
switch("DELETE", pool.id, pooled)
reaches(pool.id, pooled, "disabled-unbound")
switch("POST", pool.id, pooled)
reaches(pool.id, pooled, "discovering-unbound")
tell_inventory(pool.id, pooled)
reaches(pool.id, pooled, "known-unbound")
installer.bind_host(pool.id, pooled, models.BindHostParams(cluster_id=cluster.id))
reaches(pool.id, pooled, "binding")
register(pool.id, pooled)
reaches(pool.id, pooled, "discovering")
tell_inventory(pool.id, pooled)
reaches(pool.id, pooled, "known", "insufficient", "pending-for-input")
switch("DELETE", pool.id, pooled)
reaches(pool.id, pooled, "disabled")
switch("POST", pool.id, pooled)
reaches(pool.id, pooled, "discovering", "known", "insufficient", "pending-for-input")
installer.unbind_host(pool.id, pooled)
reaches(pool.id, pooled, "unbinding")
register(pool.id, pooled)
reaches(pool.id, pooled, "discovering-unbound")
installer.v2_deregister_host(pool.id, pooled)
installer.deregister_infra_env(pool.id)

error = refused(404, installer.v2_get_cluster, "99999999-9999-4999-8999-999999999999")
check("an error has its shape", error["kind"] == "Error" and error["code"] == "404")
installer.v2_deregister_host(infra_env.id, host_id)
refused(404, installer.v2_get_host, infra_env.id, host_id)
installer.deregister_infra_env(infra_env.id)
refused(404, installer.get_infra_env, infra_env.id)
installer.v2_deregister_cluster(cluster.id)
refused(404, installer.v2_get_cluster, cluster.id)
