#!/bin/bash
# Records the traces that the app's timeline shows, inside the kernels, on this machine's GPU:
#   assets/recordings/record_traces.sh build/release/attnscope-cli assets/recordings/traces
set -euo pipefail
cli=$1
folder=$2
mkdir -p "$folder"

# trace NAME OPTIONS
trace() {
  local name=$1
  shift
  "$cli" trace --measured --save "$folder/$name.json" --out /dev/null "$@"
}

# The scenes' problems, with every row
small=(--dtype fp16 --head-dim 16 --block-rows 16 --block-cols 16)
for algorithm in flash1 flash2; do
  trace "$algorithm-forward-64" --algorithm $algorithm --seq-len 64 --rows 1 "${small[@]}"
  trace "$algorithm-backward-64" --algorithm $algorithm --pass backward --seq-len 64 "${small[@]}"
  trace "$algorithm-causal-128" --algorithm $algorithm --seq-len 128 --mask causal --rows 1 \
    "${small[@]}"
done

# Many busy SMs, with a few rows
trace flash2-forward-1024 --algorithm flash2 --heads 24 --seq-len 1024 --head-dim 64 --rows 256
trace flash2-backward-1024 --algorithm flash2 --pass backward --heads 16 --seq-len 1024 \
  --head-dim 64
trace flash1-forward-512 --algorithm flash1 --heads 132 --seq-len 512 --head-dim 64 --rows 256
trace split_kv-8192 --algorithm split_kv --heads 8 --seq-len 1 --kv-len 8192 --head-dim 128 --rows 1
