pragma journal_mode = wal;
create table t(a, b); 
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000) insert into t select i, i * i % 997 from n;
select count(*), sum(b) from t; create index i on t(b); select a from t where b = 49 order by a; vacuum; pragma integrity_check; pragma journal_mode = delete;
