#!/bin/bash
# Measures what the app and the documents show, on this machine's GPU, into two recordings:
#   assets/recordings/record.sh build/release/attnscope-cli assets/recordings/NAME.json
# and assets/recordings/NAME-sweeps.json, which has fewer repeats a row (tests/bench/sweeps.py
# prints its tables). Every row is saved as soon as it is measured; run it again to go on where it
# was stopped.
set -euo pipefail
cli=$1
main=$2
sweeps=${main%.json}-sweeps.json

# sweep OVER [OVER...] -- OPTIONS: points that fail (out of memory) become rows that say so
sweep() {
  local over=()
  while [ "$1" != "--" ]; do
    over+=(--over "$1")
    shift
  done
  shift
  "$cli" sweep "${over[@]}" -- measure --resume --out "$out" $protocol "$@" >&2 ||
    echo "no result: $*" >&2
}

all=algorithm=standard,flash1,flash2
masks=mask=none,causal
passes=pass=forward,backward
out=$main
protocol=

# 16k tokens, hidden size 2048: the benchmark of the FlashAttention-2 paper
tokens=batch+seq-len=32+512,16+1024,8+2048,4+4096,2+8192,1+16384
for shape in "64 32" "128 16"; do
  read -r d heads <<<"$shape"
  sweep $passes $tokens $all $masks -- --dtype bf16 --heads "$heads" --head-dim "$d"
done

# One head a multiprocessor, so that flash1, with a thread block a head, has the whole GPU
sweep $passes heads+seq-len=264+1024,264+4096,132+16384 head-dim=64,128 $all $masks -- --dtype bf16

# Decoding: one query a head against a cache of keys
lengths=512,1024,2048,4096,8192,16384,32768,65536
sweep head-dim=64,128,256 kv-len=$lengths -- --algorithm split_kv --dtype bf16 --heads 8 --seq-len 1

# dQ in a fixed order
sweep $masks -- --algorithm flash2 --pass backward --deterministic --dtype bf16 --batch 4 \
  --heads 16 --seq-len 4096 --head-dim 128

# The shape of Figure 2 of the FlashAttention paper
sweep $all -- --dtype bf16 --batch 64 --heads 16 --seq-len 1024 --head-dim 64

# flash1 with O carried in fp32
sweep seq-len=1024,4096,16384 -- --algorithm flash1 --carry fp32 --dtype bf16 --heads 32 \
  --head-dim 64

# On CUDA cores, the idea alone
sweep $passes -- --algorithm flash2 --dtype fp32 --batch 4 --heads 16 --seq-len 4096 --head-dim 128
sweep $passes -- --algorithm flash2 --dtype fp32 --batch 4 --heads 16 --seq-len 1024 --head-dim 64

# Where S and P no longer fit
sweep algorithm=standard,flash2 -- --dtype bf16 --heads 32 --seq-len 65536 --head-dim 64

# The scenes' own problems
tiles16="--block-rows 16 --block-cols 16"
tiles32="--block-rows 32 --block-cols 32"
sweep $masks seq-len=64,128 -- --algorithm standard --dtype fp16 --head-dim 16
sweep algorithm=flash1,flash2 $masks seq-len=64,128 -- --dtype fp16 --head-dim 16 $tiles16
sweep algorithm=standard -- --dtype fp16 --seq-len 1024 --head-dim 64
sweep algorithm=flash1,flash2 -- --dtype fp16 --seq-len 1024 --head-dim 64 $tiles32
sweep algorithm=block_sparse2 -- --dtype fp16 --seq-len 128 --head-dim 16 $tiles16 \
  --block-mask local-global:1,1

# From here on few repeats a row
out=$sweeps
protocol="--warm-ups 1 --repeats 5 --time-budget 1 --checked-rows 16"

# The widest heads, hidden size 2048, and longer ones of fewer heads
tokens=batch+seq-len=32+512,16+1024,8+2048,4+4096,2+8192,1+16384
sweep $passes $tokens $masks -- --algorithm flash2 --dtype bf16 --heads 8 --head-dim 256
sweep $passes $tokens $masks -- --algorithm standard --dtype bf16 --heads 8 --head-dim 256
sweep $passes seq-len=32768,65536 $masks -- --algorithm flash2 --dtype bf16 --heads 2 --head-dim 256
sweep $passes $masks seq-len=32768,65536 -- --algorithm standard --dtype bf16 --heads 2 --head-dim 256
sweep $masks $tokens -- --algorithm flash1 --dtype bf16 --heads 8 --head-dim 256
sweep $masks seq-len=32768,65536 -- --algorithm flash1 --dtype bf16 --heads 2 --head-dim 256

# Longer sequences, hidden size 512; flash1, one thread block a head, takes seconds
shapes=heads+head-dim=8+64,4+128
sweep $passes $shapes seq-len=32768,65536 $masks -- --algorithm flash2 --dtype bf16
sweep $passes $shapes seq-len=32768,65536 $masks -- --algorithm standard --dtype bf16
sweep $shapes seq-len=32768,65536 $masks -- --algorithm flash1 --dtype bf16
sweep $shapes seq-len=32768,65536 $masks -- --algorithm flash1 --pass backward --dtype bf16

# The same on CUDA cores, 16k tokens or one sequence; the backward pass takes d up to 192
for shape in "64 32 8" "128 16 4" "256 8 2"; do
  read -r d heads long_heads <<<"$shape"
  passes_of_d=$([ "$d" = 256 ] && echo pass=forward || echo $passes)
  options="--algorithm flash2 --dtype fp32 --head-dim $d"
  sweep $passes_of_d $masks $tokens -- $options --heads "$heads"
  sweep $passes_of_d $masks seq-len=32768,65536 -- $options --heads "$long_heads"
done

# Head dimension, number of heads and sequence length, each alone: embedding size is heads x d
sweep head-dim=16,32,64,128 $passes $all -- --dtype bf16 --batch 4 --heads 16 --seq-len 4096
sweep head-dim=96,192,256 $passes algorithm=standard,flash2 -- --dtype bf16 --batch 4 --heads 16 \
  --seq-len 4096
sweep heads=1,4,16,64 $passes $all -- --dtype bf16 --seq-len 4096 --head-dim 64
sweep seq-len=512,1024,4096,16384 $passes $all -- --dtype bf16 --heads 16 --head-dim 64

# Block sizes: Figure 2, middle, of the FlashAttention paper, in its shape
figure2="--dtype bf16 --batch 64 --heads 16 --seq-len 1024 --head-dim 64"
sweep block-rows+block-cols=32+32,128+128,128+256 -- --algorithm flash1 $figure2
sweep block-rows+block-cols=32+32,128+128 -- --algorithm flash2 $figure2
sweep block-rows+block-cols=32+32,64+128 -- --algorithm flash1 --pass backward $figure2
sweep block-rows+block-cols=32+32,64+128,128+128 -- --algorithm flash2 --pass backward $figure2

# Block density: Figure 2, right; every row tile has as many column tiles
densities=uniform:1,uniform:0.5,uniform:0.25,uniform:0.2,uniform:0.1,uniform:0.05
shapes=batch+heads+seq-len+head-dim=4+16+4096+64,1+16+16384+64,1+8+65536+64
sweep $passes $shapes block-mask=$densities -- --algorithm block_sparse2 --dtype bf16
sweep $passes $shapes -- --algorithm flash2 --dtype bf16
shapes=heads+seq-len+head-dim=16+16384+128,4+65536+128
sweep $passes $shapes -- --algorithm flash2 --dtype bf16
shapes=$shapes,8+16384+256,2+65536+256
sweep $passes $shapes block-mask=$densities -- --algorithm block_sparse2 --dtype bf16

# A quarter of the tiles, at every length
sweep seq-len=$lengths $passes $masks head-dim=64,128,256 -- --algorithm block_sparse2 \
  --dtype bf16 --heads 4 --block-mask uniform:0.25

test -f "$main" && test -f "$sweeps"
