-- The session that a trial was measured in: what one sitting measured. A file of an import is one; so is a study of our own.
ALTER TABLE trial ADD COLUMN session BIGINT NOT NULL DEFAULT 1;
