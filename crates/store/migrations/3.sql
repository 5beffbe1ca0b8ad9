-- What nobody has touched for long is found by these. A cluster's column is exact to the hour only: most changes leave it
-- and its index alone; the document has the exact time.
update clusters set updated_at = updated_at - updated_at % 3600000000000;
create index clusters_updated_at on clusters (updated_at) where deleted_at is null;
create index infra_envs_updated_at on infra_envs (updated_at);
