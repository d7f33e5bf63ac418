#!/usr/bin/env bash
# kernels_there.sh OBJECT ... - every kernel that the host's code launches is in the device's code of the same object. The
# compilers of the two may decide a requirement differently, and then a launch fails with "invalid device function".
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
nm "$@" | grep -o '_ZN6cleave7backend4cudaL5entryI.*' | sed 's/cudaL5entry/cuda5entry/' | sort -u >"$folder/host"
strings -a "$@" | sed -n 's/^\.text\.\(_ZN6cleave7backend4cuda5entryI.*\)/\1/p' | sort -u >"$folder/device"
comm -23 "$folder/host" "$folder/device" >"$folder/missing"
echo "$(wc -l <"$folder/host") kernels are launched, $(wc -l <"$folder/missing") of them are not in the device's code"
cut -c1-400 "$folder/missing" | head -n 5
[ "$(wc -l <"$folder/host")" -ge 10 ] && ! [ -s "$folder/missing" ]
