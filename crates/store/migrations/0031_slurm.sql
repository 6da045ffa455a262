-- Jobs that Slurm begins, each by a worker of its own.

-- words for sbatch: a JSON array; none of a job that the queue's workers begin
ALTER TABLE job ADD COLUMN slurm_options TEXT;
-- Slurm's number; none where Slurm hasn't got it
ALTER TABLE job ADD COLUMN slurm_job BIGINT;
-- why it waits in Slurm, as far as that was asked
ALTER TABLE job ADD COLUMN slurm_reason TEXT;
-- the one job that a worker is for
ALTER TABLE queue_worker ADD COLUMN only_job BIGINT;
