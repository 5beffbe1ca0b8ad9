-- The keys that secrets are sealed with: what tells whether a key is the right one, and whether everything is sealed with it.
-- They are numbered, so that of two services that come with keys of their own at the same time only one notes its key.
create table seal_keys (
    id text primary key,
    number bigint not null unique,
    probe text not null,
    complete bigint not null
);
