-- What is to be done outside, in the order in which it was asked for. The actions of one cluster are done one after
-- another. `attempts` also tells a worker that finishes whether its lease is still its own: `at` is the lease's end then.
create table actions (
    id bigserial primary key,
    cluster_id uuid not null,
    asked_at bigint not null,
    at bigint not null,
    attempts bigint not null,
    lease_owner text,
    last_error text,
    doc text not null
);
create index actions_cluster_id on actions (cluster_id, id);
create index actions_at on actions (at);
