-- The monitor that measures a metric; missing where its benchmark declares it. Those of monitors come after these.
ALTER TABLE metric ADD COLUMN monitor TEXT;
