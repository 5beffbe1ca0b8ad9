-- Secrets of the service itself that all replicas share, such as the key that signs tokens. Each is sealed for its row.
create table service_secrets (
    name text primary key,
    sealed text not null
);
