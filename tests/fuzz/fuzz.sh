#!/bin/bash
# Runs the libFuzzer program of one target in JOBS processes for SECONDS seconds:
#   tests/fuzz/fuzz.sh build/fuzz TARGET SECONDS JOBS
# Prints how many inputs ran and the largest coverage of a process. The processes share the inputs
# that they find, in build/fuzz/inputs/TARGET/. The exit status is 1 if there is a finding: its
# input is build/fuzz/finding-TARGET-*, and the end of its process's log is printed. The list of
# rare features is kept short: libFuzzer would spend a third of its time searching it.
set -euo pipefail
build=$(realpath "$1")
target=$2
seconds=$3
jobs=$4
seeds=$(realpath "$(dirname "$0")/seeds/$target")

logs=$build/logs/$target
mkdir -p "$build/inputs/$target" "$logs"
cd "$logs"
rm -f fuzz-*.log
status=0
"$build/attnscope_fuzz_$target" -jobs="$jobs" -workers="$jobs" -max_total_time="$seconds" \
  -timeout=10 -malloc_limit_mb=1024 -rss_limit_mb=2048 -max_len=8192 -close_fd_mask=1 \
  -entropic_feature_frequency_threshold=8 -entropic_number_of_rarest_features=50 \
  -artifact_prefix="$build/finding-$target-" -print_final_stats=1 \
  "$build/inputs/$target" "$seeds" > all.log 2>&1 || status=1

inputs=$(awk '/^stat::number_of_executed_units/ {sum += $2} END {print sum + 0}' fuzz-*.log)
# No coverage is printed if a seed is a finding
coverage=$({ grep -hoE 'cov: [0-9]+ ft: [0-9]+' fuzz-*.log || true; } | sort -k 4 -n | tail -1)
printf '%-10s %9d inputs in %d processes, %s\n' "$target" "$inputs" "$jobs" "$coverage"
if ((status != 0)); then
  grep -lE '^SUMMARY|ERROR: ' fuzz-*.log | xargs -r tail -n 40
fi
exit "$status"
