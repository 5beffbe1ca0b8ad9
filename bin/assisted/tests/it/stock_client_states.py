"""Reads every object of clusters and infra-envs through the published client, in each state.

Arguments: address of the service, and either id of a cluster, id of its infra-env, and the state that is the last to be
read, such as "cluster installed" or "host added-to-existing-cluster", or nothing more: then everything that there is is
read once. The client checks what it reads against its own models; lists, which it leaves as they are, are put through the
models here. Prints each state when it was read for the first time, one a line.
"""

import json
import sys
import time

from assisted_service_client import ApiClient, Configuration, api, models
from assisted_service_client.rest import ApiException

url = sys.argv[1]
configuration = Configuration()
configuration.host = url + "/api/assisted-install"
client = ApiClient(configuration)
installer = api.InstallerApi(client)
operators = api.OperatorsApi(client)

# Longer than any installation at the speed of the test; only a broken one gets here.
DEADLINE = time.monotonic() + 150


def as_model(kind, data):
    """The data as the client's model: missing members and foreign values raise."""
    return client._ApiClient__deserialize(data, kind)


def maybe(call, *args, refusals=(400, 404, 409), **kwargs):
    """What there is only in some states; the refusal must be one, too."""
    try:
        return call(*args, **kwargs)
    except ApiException as error:
        if error.status not in refusals:
            raise
        as_model("Error", json.loads(error.body))
        return None


def read_cluster(cluster_id):
    cluster = installer.v2_get_cluster(cluster_id)
    installer.v2_get_cluster(cluster_id, exclude_hosts=True)
    for one in installer.list_cluster_hosts(cluster_id, with_inventory=True, with_connectivity=True):
        as_model("Host", one)
    listed = api.EventsApi(client).v2_list_events(cluster_id=cluster_id, categories=["user", "metrics"])
    events = [as_model("Event", one) for one in listed]
    for one in operators.v2_list_of_cluster_operators(cluster_id):
        as_model("MonitoredOperator", one)
    for one in api.ManifestsApi(client).v2_list_cluster_manifests(cluster_id, include_system_generated=True):
        as_model("Manifest", one)
    installer.v2_get_preflight_requirements(cluster_id)
    installer.get_cluster_supported_platforms(cluster_id)
    maybe(installer.v2_get_cluster_install_config, cluster_id)
    installer.v2_get_cluster_ui_settings(cluster_id)
    installer.v2_get_ignored_validations(cluster_id)
    maybe(installer.v2_get_credentials, cluster_id)
    for file_name in ("kubeconfig", "kubeconfig-noingress", "kubeadmin-password"):
        maybe(installer.v2_download_cluster_credentials, cluster_id, file_name, _preload_content=False)
    for file_name in ("bootstrap.ign", "master.ign", "worker.ign", "metadata.json", "install-config.yaml"):
        maybe(installer.v2_download_cluster_files, cluster_id, file_name, _preload_content=False)
    maybe(installer.v2_download_cluster_logs, cluster_id, _preload_content=False)
    return cluster, events


def read_infra_env(infra_env_id):
    infra_env = installer.get_infra_env(infra_env_id)
    hosts = []
    for one in installer.v2_list_hosts(infra_env_id):
        as_model("Host", one)
        hosts.append(installer.v2_get_host(infra_env_id, one["id"]))
        # By contract the config that a host does not have yet, while its cluster has others, is a 500.
        host = {"infra_env_id": infra_env_id, "host_id": one["id"], "refusals": (400, 404, 409, 500)}
        maybe(installer.v2_get_host_ignition, **host)
        maybe(installer.v2_download_host_ignition, **host, _preload_content=False)
    return infra_env, hosts


def lists():
    clusters = [as_model("Cluster", one) for one in installer.v2_list_clusters(with_hosts=True)]
    return clusters, [as_model("InfraEnv", one) for one in installer.list_infra_envs()]


def read_once():
    """What is read of everything that there is: name and value of each field that has some few."""
    clusters, infra_envs = lists()
    for one in clusters:
        cluster, events = read_cluster(one.id)
        yield from (("cluster", cluster.status), ("cluster kind", cluster.kind), ("cluster logs", cluster.logs_info))
        yield "preparation", cluster.last_installation_preparation.status
        yield "finalizing", cluster.progress.finalizing_stage
        yield from (("operator", operator.status) for operator in cluster.monitored_operators)
        yield from (("severity", event.severity) for event in events)
    for one in infra_envs:
        infra_env, hosts = read_infra_env(one.id)
        yield "image", infra_env.type
        for host in hosts:
            yield from (("host", host.status), ("host kind", host.kind), ("host logs", host.logs_info))
            yield from (("role", host.role), ("media", host.media_status), ("stage", host.progress.current_stage))


if len(sys.argv) == 2:
    for what, value in sorted({read for read in read_once() if read[1] is not None}):
        print(what, value)
    sys.exit()

cluster_id, infra_env_id, end = sys.argv[2:5]


def read_all():
    lists()
    read_infra_env(infra_env_id)
    return read_cluster(cluster_id)[0]


def states(cluster):
    hosts = sorted((host.id, host.status, host.progress and host.progress.current_stage) for host in cluster.hosts or [])
    return (cluster.status, cluster.progress and cluster.progress.finalizing_stage, tuple(hosts))


seen = set()
known = None
while True:
    now = states(installer.v2_get_cluster(cluster_id))
    if now != known:
        now = states(read_all())
        read = {f"cluster {now[0]}"}
        read.update(f"host {status}" for _, status, _ in now[2])
        read.update(f"stage {stage}" for _, _, stage in now[2] if stage)
        for new in sorted(read - seen):
            print(new, flush=True)
        seen |= read
        known = now
        if end in read:
            break
    if time.monotonic() > DEADLINE:
        raise SystemExit(f"{end} never came: the cluster is {known[0]}; read so far: {sorted(seen)}")
    time.sleep(0.02)
