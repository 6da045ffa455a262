-- What was drawn at random for a trial, by host and setting, as JSON: `{"dut":{"process.aslr":"off"}}`; NULL where nothing was.
ALTER TABLE trial ADD COLUMN drawn TEXT;
