#!/usr/bin/env bash
# llama.cpp and attn in turn, both with activations of 8 bits: tokens/s of a prompt (256) and of generation (128)
# usage: [LLAMA_BENCH=path/to/llama-bench] [ROUNDS=5] [THREADS=1] [PRECISION=int8] turns.sh MODEL.gguf...        (README.md says how to get llama-bench)
# PRECISION=float32 is for files without quantized weights
# prints the median and the best of the rounds
set -euo pipefail
bench=${LLAMA_BENCH:-llama-bench} precision=${PRECISION:-int8} threads=${THREADS:-1}
package=$(cd "$(dirname "$0")/../decoder" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$package" && go test -c -o "$work/attn" .)
for ((round = 0; round < ${ROUNDS:-5}; round++)); do
  for model in "$@"; do
    file=$(realpath "$model")
    "$bench" -m "$file" -t "$threads" -p 256 -n 128 -r 1 -o json 2>/dev/null | python3 -c '
import json, sys
for r in json.load(sys.stdin):
    print("llama.cpp", "prompt" if r["n_prompt"] else "generate", r["avg_ts"])' | sed "s|^|$model |"
    (cd "$package" && "$work/attn" -test.run '^$' -test.cpu "$threads" -test.benchtime 1x -test.bench "Prompt/precision=$precision|Generate/greedy/precision=$precision" -threads "$threads" -model "$file") |
      sed -nE "s|^Benchmark(Prompt\|Generate).* ([0-9.]+) tokens/s.*|$model attn \L\1\E \2|p"
  done
done | python3 -c '
import collections, statistics, sys
rows = collections.defaultdict(list)
for line in sys.stdin:
    model, program, what, speed = line.rsplit(None, 3)
    rows[model, what, program].append(float(speed))
for key in sorted(rows):
    print("%-32s %-9s %-10s median %7.1f  best %7.1f tokens/s" % (*key, statistics.median(rows[key]), max(rows[key])))'
