-- Times are nanoseconds since 1970; "never" is null.

create table clusters (
    id uuid primary key,
    version bigint not null,
    name text not null,
    status text not null,
    user_name text not null,
    org_id text not null,
    openshift_cluster_id uuid,
    ams_subscription_id uuid,
    created_at bigint,
    updated_at bigint,
    deleted_at bigint,
    doc text not null
);
create index clusters_user_name on clusters (user_name);
create index clusters_org_id on clusters (org_id);
create index clusters_openshift_cluster_id on clusters (openshift_cluster_id) where openshift_cluster_id is not null;
create index clusters_ams_subscription_id on clusters (ams_subscription_id) where ams_subscription_id is not null;
create index clusters_deleted_at on clusters (deleted_at) where deleted_at is not null;

create table infra_envs (
    id uuid primary key,
    version bigint not null,
    name text not null,
    user_name text not null,
    org_id text not null,
    cluster_id uuid,
    created_at bigint,
    updated_at bigint,
    doc text not null
);
create index infra_envs_user_name on infra_envs (user_name);
create index infra_envs_org_id on infra_envs (org_id);
create index infra_envs_cluster_id on infra_envs (cluster_id) where cluster_id is not null;

-- The same machine may appear in several infra-envs as independent hosts.
create table hosts (
    infra_env_id uuid not null,
    host_id uuid not null,
    version bigint not null,
    cluster_id uuid,
    status text not null,
    role text not null,
    created_at bigint,
    updated_at bigint,
    deleted_at bigint,
    doc text not null,
    primary key (infra_env_id, host_id)
);
create index hosts_cluster_id on hosts (cluster_id) where cluster_id is not null;
create index hosts_host_id on hosts (host_id);
create index hosts_deleted_at on hosts (deleted_at) where deleted_at is not null;

create table reports (
    infra_env_id uuid not null,
    host_id uuid not null,
    kind text not null,
    hash bytea not null,
    body text not null,
    primary key (infra_env_id, host_id, kind)
);

-- Narrow and apart from the hosts: rewritten for every host every minute.
create table check_ins (
    infra_env_id uuid not null,
    host_id uuid not null,
    at bigint,
    primary key (infra_env_id, host_id)
);

create table events (
    id bigserial primary key,
    at bigint not null,
    name text not null,
    severity text not null,
    category text not null,
    cluster_id uuid,
    host_id uuid,
    infra_env_id uuid,
    request_id uuid,
    message text not null,
    props text not null
);
create index events_cluster_id on events (cluster_id, at) where cluster_id is not null;
create index events_host_id on events (host_id, at) where host_id is not null;
create index events_infra_env_id on events (infra_env_id, at) where infra_env_id is not null;

-- `marks` counts how often the row was marked, `takes` how often it was taken: together they tell a worker that
-- finishes whether its lease is still its own, and whether there is new work.
create table due (
    what text not null,
    key text not null,
    at bigint not null,
    marks bigint not null,
    takes bigint not null,
    attempts bigint not null,
    lease_until bigint not null,
    lease_owner text,
    last_error text,
    primary key (what, key)
);
create index due_at on due (at);
