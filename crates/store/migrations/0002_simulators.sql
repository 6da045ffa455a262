-- What counted a metric (`program`, `icount=2`); missing where it was a real machine's clock, and in studies that were begun
-- before it was told.
ALTER TABLE metric ADD COLUMN simulator TEXT;
-- Names of the programs that used the processors beside a trial, as a JSON list.
ALTER TABLE machine_load ADD COLUMN busiest TEXT;
