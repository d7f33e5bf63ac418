#!/bin/sh
# run.sh PROGRAM FOLDER SECONDS - one fuzzer for so long, from its own seeds. An input that it fails on stays in FOLDER.
set -eu
program=$(realpath "$1")
rm -rf "$2"
mkdir -p "$2/corpus"
"$1" --seeds "$2/corpus"
cd "$2"
exec "$program" corpus -max_total_time="$3" -close_fd_mask=1 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1
