#!/bin/sh
# run.sh PROGRAM FOLDER SECONDS [OPTION ...] - one fuzzer for so long (0: until an option of libFuzzer ends it), from its
# own seeds. An input that it fails on stays in FOLDER.
set -eu
program=$(realpath "$1")
rm -rf "$2"
mkdir -p "$2/corpus"
"$1" --seeds "$2/corpus"
cd "$2"
seconds=$3
shift 3
exec "$program" corpus -max_total_time="$seconds" -close_fd_mask=1 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 "$@"
