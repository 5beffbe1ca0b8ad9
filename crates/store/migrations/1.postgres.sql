-- Compressing what is rewritten so often costs more processor than it saves disk: rows up to 8 kB stay whole, longer
-- texts are stored beside them as they are.

alter table clusters alter column doc set storage external;
alter table clusters set (toast_tuple_target = 8160, fillfactor = 70);
alter table infra_envs alter column doc set storage external;
alter table infra_envs set (toast_tuple_target = 8160);
alter table hosts alter column doc set storage external;
alter table hosts set (toast_tuple_target = 8160, fillfactor = 70);
alter table reports alter column body set storage external;
alter table reports set (toast_tuple_target = 8160);

-- Room in each page, so that a rewritten row stays in it and no index changes.
alter table check_ins set (fillfactor = 50);
alter table due set (fillfactor = 50);
