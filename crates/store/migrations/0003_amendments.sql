-- What is changed on top of a version: a JSON list of patches and reverts; missing where it is as its history has it.
ALTER TABLE version ADD COLUMN amendments TEXT;
