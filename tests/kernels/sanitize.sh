#!/bin/bash
# Runs every kernel on small problems, odd lengths among them, under compute-sanitizer:
#   tests/kernels/sanitize.sh build/release/attnscope-cli [TOOL...]
# TOOL: memcheck, racecheck and synccheck unless named. The exit status is 1 if a tool reports an
# error, if a measurement has no result, or if a tool saw no kernel at all.
set -euo pipefail
cli=$1
shift
tools=("$@")
(($# > 0)) || tools=(memcheck racecheck synccheck)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
once="--no-counters --warm-ups 0 --repeats 1 --checked-rows 4 --heads 2"
shape="--batch 2 --seq-len 77 --kv-len 205 --kv-heads 1"
passes="--over pass=forward,backward"
all="--over algorithm=standard,flash1,flash2"

# One line per group of measurements: the axes that it sweeps, and its options
groups=(
  "$passes $all --over dtype=fp16,bf16 --over mask=none,causal -- $shape --head-dim 64"
  "$passes $all --over head-dim=16,128 -- $shape --mask causal"
  "$passes $all --over head-dim=40,96,192,256 -- $shape"
  "--over algorithm=standard,flash1,flash2 --over mask=none,causal -- $shape --dtype fp32"
  "$passes --over mask=window:32,16 -- $shape --algorithm flash2 --softcap 20 --alibi --dropout 0.1"
  "$passes --over head-dim=16,64,128 -- $shape --algorithm flash2 --key-lengths 205,60"
  "$passes --over head-dim=16,40,64,96,128,192,256 -- $shape --algorithm flash1 --mask window:32,16 --softcap 20 --alibi --dropout 0.1 --key-lengths 205,60"
  "$passes --over algorithm=flash1,flash2,block_sparse2 -- --seq-len 96 --cu-seqlens-q 0,31,96 --cu-seqlens-k 0,31,96"
  "$passes --over block-mask=butterfly,uniform:0.5 -- --algorithm block_sparse2 --seq-len 512"
  "--over head-dim=64,128 --over mask=none,causal -- $shape --algorithm flash2 --block-rows 128 --block-cols 176"
  "--over knob.overlap=on,off --over knob.stages=1,2 -- $shape --algorithm flash2 --head-dim 64 --block-rows 192 --block-cols 128"
  "--over knob.overlap=on,off --over mask=none,causal -- --batch 2 --seq-len 333 --kv-len 461 --algorithm flash2 --head-dim 64 --block-rows 256 --block-cols 64"
  "--over mask=none,causal -- $shape --algorithm flash2 --head-dim 64 --block-rows 256 --block-cols 64 --softcap 20 --alibi --dropout 0.1 --key-lengths 205,60"
  "--over knob.schedule=persistent,blocks --over head-dim=64,128 -- $shape --algorithm flash2 --block-rows 128 --block-cols 96 --softcap 20 --alibi --dropout 0.1 --key-lengths 205,60"
  "--over head-dim=72,128 -- --algorithm block_sparse2 --seq-len 333 --kv-len 461 --block-mask uniform:0.5 --block-rows 128 --block-cols 128"
  "--over seq-len=1,5 --over head-dim=64,72,128,256 -- --algorithm split_kv --kv-len 3001 --kv-heads 1"
  "--over head-dim=16,72,192 --over mask=none,causal -- $shape --algorithm flash2 --pass backward --dtype fp32"
  "--over mask=none,causal -- $shape --algorithm flash2 --pass backward --deterministic --head-dim 64"
  "--over head-dim=16,64 -- $shape --algorithm flash1 --carry fp32"
  "$passes -- $shape --algorithm standard --mask window:32,16 --softcap 20 --alibi --dropout 0.1 --key-lengths 205,60"
  "--over head-dim=64,128 -- --batch 2 --seq-len 3 --kv-len 901 --algorithm split_kv --mask window:300,0 --key-lengths 901,260"
  "$passes --over head-dim=64,96,192,256 -- --algorithm block_sparse2 --seq-len 333 --kv-len 461 --block-mask uniform:0.5"
  "--over mask=none,causal -- --pass backward --head-dim 128 --seq-len 333 --algorithm block_sparse2 --kv-len 461 --block-mask uniform:0.5"
  "$passes --over head-dim=16,40,64,96,100,192,256 -- --batch 2 --algorithm block_sparse2 --seq-len 333 --softcap 20 --alibi --key-lengths 333,60"
)

failed=0
for tool in "${tools[@]}"; do
  for n in "${!groups[@]}"; do
    (
      over=${groups[$n]%% -- *}
      options=${groups[$n]#* -- }
      # shellcheck disable=SC2086
      compute-sanitizer --tool "$tool" --error-exitcode 9 "$cli" sweep $over -- measure $once $options ||
        echo "exit status $?"
    ) > "$logs/$tool-$n" 2>&1 &
  done
  wait
  for n in "${!groups[@]}"; do
    log=$logs/$tool-$n
    summary=$(grep -E "^========= (ERROR SUMMARY|RACECHECK SUMMARY)" "$log" || true)
    if [[ ! $summary =~ :\ 0\ (errors|hazards) ]] ||
      grep -qE "^exit status|no result for .* points" "$log"; then
      failed=1
      echo "$tool: ${groups[$n]}"
      tail -n 40 "$log"
    else
      echo "$tool, group $n: ${summary#========= }"
    fi
  done
done
exit $failed
