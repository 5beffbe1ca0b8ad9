-- People, and what they show to be who they are. Of a token only its hash is kept.
create table users (
    id uuid primary key,
    name text not null unique,
    role text not null,
    org_id text not null,
    email text not null,
    password_hash text not null,
    created_at bigint not null
);
create table user_tokens (
    id uuid primary key,
    user_id uuid not null,
    kind text not null,
    name text not null,
    hash bytea not null unique,
    scope text not null,
    created_at bigint not null,
    expires_at bigint not null
);
create index user_tokens_user_id on user_tokens (user_id);
create index user_tokens_expires_at on user_tokens (expires_at);
