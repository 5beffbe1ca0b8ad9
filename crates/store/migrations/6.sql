-- The object of the Kubernetes API that stands for a row.
alter table clusters add column object_namespace text;
alter table clusters add column object_name text;
create unique index clusters_object on clusters (object_namespace, object_name)
    where object_name is not null and deleted_at is null;
alter table infra_envs add column object_namespace text;
alter table infra_envs add column object_name text;
create unique index infra_envs_object on infra_envs (object_namespace, object_name) where object_name is not null;
