-- What the account service calls the subscription of a cluster, which is no UUID. The column that was meant for it holds nothing; it stays
-- for services of earlier versions that are still running.
alter table clusters add column subscription_id text;
create index clusters_subscription_id on clusters (subscription_id) where subscription_id is not null;
