#!/bin/bash
# Measures what the app and the documents show, on this machine's GPU, into one recording:
#   assets/recordings/record.sh build/release/attnscope-cli assets/recordings/NAME.json
# Every row is saved as soon as it is measured; run it again to go on where it was stopped.
set -euo pipefail
cli=$1
out=$2

# sweep OVER [OVER...] -- OPTIONS: points that fail (out of memory) become rows that say so
sweep() {
  local over=()
  while [ "$1" != "--" ]; do
    over+=(--over "$1")
    shift
  done
  shift
  "$cli" sweep "${over[@]}" -- measure --resume --out "$out" "$@" || echo "no result: $*"
}

all=algorithm=standard,flash1,flash2
masks=mask=none,causal

# 16k tokens, hidden size 2048: the benchmark of the FlashAttention-2 paper
for shape in "64 32" "128 16"; do
  read -r d heads <<<"$shape"
  for N in 256 512 1024 2048 4096 8192 16384; do
    sweep $all $masks -- --dtype bf16 --batch $((16384 / N)) --heads "$heads" --seq-len "$N" \
      --head-dim "$d"
  done
done

# The same, backward
for shape in "64 32" "128 16"; do
  read -r d heads <<<"$shape"
  for N in 512 1024 2048 4096 8192 16384; do
    sweep $all $masks -- --pass backward --dtype bf16 --batch $((16384 / N)) --heads "$heads" \
      --seq-len "$N" --head-dim "$d"
  done
done

# One head a multiprocessor, so that flash1, with a thread block a head, has the whole GPU
for pass in forward backward; do
  for N in 1024 4096; do
    sweep $all -- --pass $pass --dtype bf16 --heads 264 --seq-len "$N" --head-dim 64
  done
done

# The shape of Figure 2 of the FlashAttention paper, with two tilings
sweep $all -- --dtype bf16 --batch 64 --heads 16 --seq-len 1024 --head-dim 64
sweep algorithm=flash1,flash2 -- --dtype bf16 --batch 64 --heads 16 --seq-len 1024 --head-dim 64 \
  --block-rows 32 --block-cols 32

# flash1 with O carried in fp32
sweep seq-len=1024,4096,16384 -- --algorithm flash1 --carry fp32 --dtype bf16 --heads 32 \
  --head-dim 64

# Where S and P no longer fit
sweep algorithm=standard,flash2 -- --dtype bf16 --heads 32 --seq-len 65536 --head-dim 64

# The scenes' own problems
tiles16="--block-rows 16 --block-cols 16"
tiles32="--block-rows 32 --block-cols 32"
sweep $masks seq-len=64,128 -- --algorithm standard --dtype fp16 --head-dim 16
sweep algorithm=flash1,flash2 $masks seq-len=64,128 -- --dtype fp16 --head-dim 16 $tiles16
sweep algorithm=standard -- --dtype fp16 --seq-len 1024 --head-dim 64
sweep algorithm=flash1,flash2 -- --dtype fp16 --seq-len 1024 --head-dim 64 $tiles32

test -f "$out"
