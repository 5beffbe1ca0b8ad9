-- When a row was set aside, because attempts at it failed again and again, panicked or hung; 0: it is not. It is tried again by
-- itself at `at`, which no mark pulls forward.
alter table due add column aside bigint not null default 0;
alter table actions add column aside bigint not null default 0;
