#!/bin/bash
# Measures what the app and the documents show, on this machine's GPU: a recording of the ladder, one
# of the sweeps, with fewer repeats per row, and one of the edges (tests/bench/ladder.py and
# tests/bench/sweeps.py print their tables):
#   assets/recordings/record.sh build/release/attnscope-cli assets/recordings/NAME.json
#   assets/recordings/record.sh build/release/attnscope-cli assets/recordings/NAME-sweeps.json
#   assets/recordings/record.sh build/release/attnscope-cli assets/recordings/NAME-edges.json
# Every row is saved as soon as it is measured; run it again with the same build to continue where
# it stopped. A number of seconds may follow the names: once it has passed, no further sweep begins,
# and the exit status is 3. If a sweep gives no result at all, the exit status is 1.
set -euo pipefail
cli=$1
out=$2
most_seconds=${3:-1000000}
is_left_out=
has_failed=

is_late() { [ "$SECONDS" -ge "$most_seconds" ]; }

# sweep OVER [OVER...] -- OPTIONS: points that fail (out of memory) become rows that say so; at least one point of each sweep fits
sweep() {
  if is_late; then
    is_left_out=yes
    return
  fi
  local over=()
  while [ "$1" != "--" ]; do
    over+=(--over "$1")
    shift
  done
  shift
  "$cli" sweep "${over[@]}" -- measure --resume --out "$out" $protocol "$@" >&2 || {
    echo "no result: $*" >&2
    has_failed=yes
  }
}

all=algorithm=standard,flash1,flash2
masks=mask=none,causal
passes=pass=forward,backward
tokens=batch+seq-len=32+512,16+1024,8+2048,4+4096,2+8192,1+16384
lengths=512,1024,2048,4096,8192,16384,32768,65536

record_ladder() {
  protocol=

  # 16k tokens, hidden size 2048: the benchmark of the FlashAttention-2 paper
  local shape d heads
  for shape in "64 32" "128 16"; do
    read -r d heads <<<"$shape"
    sweep $passes $tokens $all $masks -- --dtype bf16 --heads "$heads" --head-dim "$d"
  done

  # At least one head per SM, so that flash1, with one thread block per head, fills the GPU; also
  # with O in fp32 in HBM
  local wide=heads+seq-len=264+1024,264+4096,132+16384
  sweep $passes $wide head-dim=64,128 $all $masks -- --dtype bf16
  sweep $wide head-dim=64,128 $masks -- --algorithm flash1 --carry fp32 --dtype bf16
  sweep seq-len=1024,4096,16384 -- --algorithm flash1 --carry fp32 --dtype bf16 --heads 32 \
    --head-dim 64

  # Decoding: one query per head against 64k keys
  sweep head-dim=64,128 -- --algorithm split_kv --dtype bf16 --heads 8 --seq-len 1 --kv-len 65536

  # dQ in a fixed order
  sweep $masks -- --algorithm flash2 --pass backward --deterministic --dtype bf16 --batch 4 \
    --heads 16 --seq-len 4096 --head-dim 128

  # The shape of Figure 2 of the FlashAttention paper
  sweep $all -- --dtype bf16 --batch 64 --heads 16 --seq-len 1024 --head-dim 64

  # flash2's idea alone, on CUDA cores
  sweep $passes batch+seq-len+head-dim=4+4096+128,4+1024+64 -- --algorithm flash2 --dtype fp32 \
    --heads 16

  # Where S and P no longer fit
  sweep algorithm=standard,flash2 -- --dtype bf16 --heads 32 --seq-len 65536 --head-dim 64

  # The scenes' own problems
  local tiles16="--block-rows 16 --block-cols 16"
  local tiles32="--block-rows 32 --block-cols 32"
  sweep $masks seq-len=64,128 -- --algorithm standard --dtype fp16 --head-dim 16
  sweep algorithm=flash1,flash2 $masks seq-len=64,128 -- --dtype fp16 --head-dim 16 $tiles16
  sweep algorithm=standard -- --dtype fp16 --seq-len 1024 --head-dim 64
  sweep algorithm=flash1,flash2 -- --dtype fp16 --seq-len 1024 --head-dim 64 $tiles32
  sweep algorithm=block_sparse2 -- --dtype fp16 --seq-len 128 --head-dim 16 $tiles16 \
    --block-mask local-global:1,1
}

# Block density: Figure 2 (right) of the FlashAttention paper: every row tile has as many column
# tiles. Either both sweeps begin or neither does, since their rows are compared
density_of() {
  local shape=batch+heads+seq-len+head-dim=$1
  is_late || local most_seconds=1000000
  sweep $passes $shape -- --algorithm flash2 --dtype bf16
  sweep $passes $shape \
    block-mask=uniform:1,uniform:0.5,uniform:0.25,uniform:0.2,uniform:0.1,uniform:0.05 -- \
    --algorithm block_sparse2 --dtype bf16
}

record_sweeps() {
  protocol="--warm-ups 1 --repeats 5 --time-budget 1 --checked-rows 16"
  local one shape d heads of_d

  for one in 4+16+4096+64 1+16+16384+64 1+8+65536+64 1+16+16384+128 1+4+65536+128 1+8+16384+256 \
    1+2+65536+256; do
    density_of "$one"
  done

  # Head dimension, number of heads and sequence length, one at a time; the embedding size is heads
  # x d
  sweep head-dim=16,32,64,96,128,192,256 $passes $all -- --dtype bf16 --batch 4 --heads 16 \
    --seq-len 4096
  sweep heads=1,4,16,64 $passes $all -- --dtype bf16 --seq-len 4096 --head-dim 64
  sweep seq-len=512,1024,4096,16384 $passes $all -- --dtype bf16 --heads 16 --head-dim 64

  # Block sizes: Figure 2 (middle) of the FlashAttention paper, with its problem
  local figure2="--dtype bf16 --batch 64 --heads 16 --seq-len 1024 --head-dim 64"
  sweep block-rows+block-cols=32+32,128+128,128+256 -- --algorithm flash1 $figure2
  sweep block-rows+block-cols=32+32,128+128 -- --algorithm flash2 $figure2
  sweep block-rows+block-cols=32+32,64+128 -- --algorithm flash1 --pass backward $figure2
  sweep block-rows+block-cols=32+32,64+128,128+128 -- --algorithm flash2 --pass backward $figure2

  # The widest heads, hidden size 2048, and longer sequences with fewer heads
  sweep $passes $tokens $all $masks -- --dtype bf16 --heads 8 --head-dim 256
  sweep $passes seq-len=32768,65536 algorithm=standard,flash2 $masks -- --dtype bf16 --heads 2 \
    --head-dim 256

  # Longer sequences, hidden size 512
  local long=heads+head-dim=8+64,4+128
  sweep $passes $long seq-len=32768,65536 algorithm=standard,flash2 $masks -- --dtype bf16

  # A quarter of the tiles, at every length
  sweep seq-len=$lengths $passes $masks head-dim=64,128,256 -- --algorithm block_sparse2 \
    --dtype bf16 --heads 4 --block-mask uniform:0.25

  # Decoding from caches of other lengths, and with the widest heads
  local decoding="--algorithm split_kv --dtype bf16 --heads 8 --seq-len 1"
  sweep head-dim=64,128 kv-len=512,1024,2048,4096,8192,16384,32768 -- $decoding
  sweep kv-len=$lengths -- $decoding --head-dim 256

  # On CUDA cores, 16k tokens or one sequence; the backward pass takes d up to 192
  for shape in "64 32 8" "128 16 4" "256 8 2"; do
    read -r d heads of_d <<<"$shape"
    local both=$passes
    [ "$d" != 256 ] || both=pass=forward
    sweep $both $masks $tokens -- --algorithm flash2 --dtype fp32 --head-dim "$d" --heads "$heads"
    sweep $both $masks seq-len=32768,65536 -- --algorithm flash2 --dtype fp32 --head-dim "$d" \
      --heads "$of_d"
  done

  # flash1, one thread block per head, takes seconds: each problem has its own sweep, so that the
  # time limit applies between them
  local pass N
  for one in 8+64 4+128 2+256; do
    for pass in forward backward; do
      for N in 32768 65536; do
        sweep $masks heads+head-dim=$one -- --algorithm flash1 --pass $pass --dtype bf16 \
          --seq-len $N
      done
    done
  done
}

# Problems whose tiles do not fill the boxes of bulk copies: head dimensions other than multiples of
# 64, and sequences, heads and key lengths that end within a tile
record_edges() {
  protocol="--warm-ups 1 --repeats 5 --time-budget 1 --checked-rows 16"
  local heads="--dtype bf16 --batch 2 --heads 8"

  sweep $passes $masks head-dim+seq-len=64+968,80+1000,96+1024,112+2048,128+1000,192+904,256+776 \
    -- --algorithm flash2 $heads
  sweep $passes kv-heads=2 -- --algorithm flash2 $heads --head-dim 128 --seq-len 1000
  sweep $passes mask=causal -- --algorithm flash2 $heads --head-dim 96 --seq-len 1000 --kv-len 1500
  sweep $passes -- --algorithm flash2 $heads --head-dim 128 --seq-len 1024 --key-lengths 1000,300
  sweep $passes mask=window:200 -- --algorithm flash2 $heads --head-dim 128 --seq-len 1000
  sweep pass=backward mask=none -- --algorithm flash1 $heads --head-dim 128 --seq-len 1000
  sweep $passes head-dim=96,128 -- --algorithm block_sparse2 $heads --seq-len 1000 \
    --block-mask random:0.5
  sweep $passes mask=none -- --algorithm flash2 --dtype bf16 --heads 8 --head-dim 128 \
    --seq-len 2000 --kv-len 2000 --cu-seqlens-q 0,704,1504,2000 --cu-seqlens-k 0,704,1504,2000
}

case $out in
  *-sweeps.json) record_sweeps ;;
  *-edges.json) record_edges ;;
  *) record_ladder ;;
esac
[ -z "$has_failed" ] || exit 1
[ -z "$is_left_out" ] || exit 3
