-- Messages on their way to others, each written in the transaction of the change that it tells of, and removed once whoever it is
-- for has taken it. Of one `cluster_id`, and of those without, they go out in the order of their ids. `size` is that of the body in
-- bytes; `aside` is when a message was set aside, because it was refused again and again; 0: it was not.
create table outbox (
    id bigserial primary key,
    sink text not null,
    message_id uuid not null,
    kind text not null,
    cluster_id uuid,
    at bigint not null,
    size bigint not null,
    body text not null,
    attempts bigint not null,
    last_error text,
    aside bigint not null
);
create index outbox_sink on outbox (sink, id);

-- Clusters about which those who support them have been told.
create table uploads (
    cluster_id uuid primary key,
    uploaded_at bigint not null
);
