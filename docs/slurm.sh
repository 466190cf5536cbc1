#!/usr/bin/env bash
# A job array: each task takes its share of the runs. Submit again to continue.
#SBATCH --job-name=selfpaced
#SBATCH --array=1-20
#SBATCH --cpus-per-task=4
#SBATCH --mem-per-cpu=1G
#SBATCH --time=02:00:00

set -euo pipefail
source .venv/bin/activate

selfpaced run gate-precision gate-global --algorithms sprl creps --seeds 40 \
    --out /shared/runs \
    --workers "$SLURM_CPUS_PER_TASK" \
    --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"
