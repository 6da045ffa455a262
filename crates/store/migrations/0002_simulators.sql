-- What counted a metric (`program`, `icount=2`); missing where it was a real machine's clock, and in studies that were begun
-- before it was told.
ALTER TABLE metric ADD COLUMN simulator TEXT;
