-- These are rewritten all the time and in place, which leaves nothing that a vacuum would have to clear away, and they
-- never look different to the planner: by the share of changed rows, both would be gone through every few seconds.
alter table check_ins set (autovacuum_vacuum_scale_factor = 5, autovacuum_vacuum_threshold = 10000,
    autovacuum_analyze_scale_factor = 5, autovacuum_analyze_threshold = 10000);
alter table due set (autovacuum_vacuum_scale_factor = 5, autovacuum_vacuum_threshold = 10000,
    autovacuum_analyze_scale_factor = 5, autovacuum_analyze_threshold = 10000);
