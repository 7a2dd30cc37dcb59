#!/usr/bin/env bash
# The whole comparison on a GPU in one call: the grid and 48 random cases, with PyTorch where it is installed.
#   tests/bench/gpu.sh BENCH_REDUCTIONS FOLDER      leaves gpu.md and gpu.jsonl in FOLDER
set -euo pipefail
bench=${1:?the program bench_reductions} folder=${2:?a folder for the results}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$folder"
python3 "$here/compare.py" --bench "$bench" --device cuda --grid "$here/grid.txt" --random 48 --seed 6 --budget 0.05 \
  --markdown "$folder/gpu.md" --json "$folder/gpu.jsonl"
