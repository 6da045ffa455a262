-- Of the packed samples, with the place where they stand: the first 8 bytes of a BLAKE3 hash. Missing where the study was
-- recorded before there were any, which isn't an error: nothing is known of these.
ALTER TABLE sample ADD COLUMN measured_checksum BIGINT;
ALTER TABLE sample ADD COLUMN within_checksum BIGINT;
