-- The compilers that made a build, as its programs say: a list of texts as JSON.
ALTER TABLE build ADD COLUMN compilers TEXT NOT NULL DEFAULT '[]';
