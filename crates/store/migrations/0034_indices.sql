-- Studies that asked the same questions.
CREATE INDEX cell_by_question ON cell (question);
-- The jobs that were moved to the front: a few of all that ever were.
CREATE INDEX job_by_front ON job (front) WHERE front <> 0;
-- Trials that failed, which are few, are counted without reading the others.
CREATE INDEX trial_by_failure ON trial (study) WHERE failure IS NOT NULL;
