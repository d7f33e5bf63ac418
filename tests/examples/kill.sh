#!/usr/bin/env bash
# kill.sh workers|parts BIN - kill -9 during training on MNIST, 20 times at random moments: of clients, which come back,
# and of a part of the parameter server, which ends the run with an error that names it. Nothing hangs, nothing is wrong.
set -eu
case=$1 bin=$2
[ -n "${CLEAVE_DATA:-}" ] && [ -d "$CLEAVE_DATA" ] || { echo "skipped: CLEAVE_DATA names no folder"; exit 77; }
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
port=$((20000 + $$ % 12000))  # below those that the system gives to clients
RANDOM=$$
fail() { echo "$*"; tail -n 3 ./*.err; exit 1; }
a_while() { sleep "$(awk -v r=$RANDOM -v from="$1" -v to="$2" 'BEGIN { print from + (to - from) * r / 32767 }')"; }

# serve PARTS PROGRAM... : a server in so many processes; sets part[...], ports[...] and join.
serve() {
  local parts=$1 p
  shift
  join= part=() ports=()
  for ((p = 0; p < parts; ++p)); do
    port=$((port + 1))
    "$@" --serve $port --part $p --parts "$parts" --linger 2 >part$p.out 2>part$p.err &
    part[$p]=$! ports[$p]=$port
    join=$join,127.0.0.1:$port
  done
  join=${join#,}
}
# client REPLICA PROGRAM... : in the background; its process is client[REPLICA].
client() {
  local r=$1
  shift
  "$@" --join "$join" --replica "$r" --data "$CLEAVE_DATA" --reconnect 0 --out "out$r" >>"client$r.out" 2>"client$r.err" &
  client[$r]=$!
}
# ends PID SECONDS NAME: its exit code is in `code`.
ends() {
  local left=$(($2 * 10))
  while kill -0 "$1" 2>/dev/null; do
    [ $left -gt 0 ] || fail "$3 hangs"
    left=$((left - 1))
    sleep 0.1
  done
  code=0
  wait "$1" || code=$?
}

kill_workers() {  # RANKS PARTS PROGRAM...
  local ranks=$1 parts=$2 killed=0 r p
  shift 2
  rm -f client*.out
  serve "$parts" "$@" --ranks "$ranks"
  for ((r = 0; r < ranks; ++r)); do client $r "$@" --ranks "$ranks"; done
  while [ $killed -lt 20 ]; do
    a_while 0.1 0.6
    r=$((1 + RANDOM % (ranks - 1)))  # replica 0 tells how it goes
    kill -0 "${client[0]}" 2>/dev/null || break  # a fast machine: training is over
    kill -9 "${client[$r]}" 2>/dev/null || continue
    killed=$((killed + 1))
    wait "${client[$r]}" 2>/dev/null || true
    a_while 0 0.3
    client $r "$@" --ranks "$ranks"
  done
  [ $killed -ge 5 ] || fail "training was over after $killed kills"
  ends "${client[0]}" 120 "replica 0"
  [ $code -eq 0 ] || fail "replica 0 ended with code $code"
  # What comes back late still has its own part to do, or finds that there is nothing left.
  for ((r = 1; r < ranks; ++r)); do
    ends "${client[$r]}" 120 "replica $r"
    [ $code -eq 0 ] || fail "replica $r ended with code $code"
  done
  for p in "${part[@]}"; do
    ends "$p" 20 "a part of the server"
    [ $code -eq 0 ] || fail "a part of the server ended with code $code"
  done
  sed -n 's/.*loss //p' client0.out | awk -v kills=$killed 'NR <= 2 { a += $1 / 2 } { b[NR % 5] = $1 } END {
    for (i in b) c += b[i] / 5
    printf "%d kills, loss of replica 0 from %.3f to %.3f\n", kills, a, c
    exit !(NR >= 10 && c < a / 2) }' || fail "the loss did not fall"
  grep -o 'held-out accuracy [0-9.]*' client0.out | awk '{ print; exit !($3 >= 95) }' || fail "wanted 95 %"
}

kill_parts() {  # PARTS PROGRAM...: one dies with the run under way
  local parts=$1 r p victim round
  shift
  for ((round = 0; round < 10; ++round)); do
    rm -rf out* client*.out
    serve "$parts" "$@" --ranks 2
    # In every second round replica 0 saves all the time: the part then dies while it is read.
    for r in 0 1; do client $r "$@" --ranks 2 --save-every $((round % 2 == 1 ? 1 : 1000))steps; done
    a_while 0.3 1.5
    victim=$((RANDOM % parts))
    kill -9 "${part[$victim]}"
    for r in 0 1; do
      ends "${client[$r]}" 80 "replica $r"  # one that had not connected yet tries for 60 s
      [ $code -eq 2 ] || fail "replica $r ended with code $code, wanted 2"
      [ "$(wc -l <client$r.err)" -eq 1 ] && grep -q "127.0.0.1:${ports[$victim]}" client$r.err || fail "replica $r names nobody"
      [ $r -eq 0 ] || [ ! -e out$r/checkpoint.safetensors ] || fail "replica $r wrote a checkpoint of half a run"
    done
    for p in "${part[@]}"; do ends "$p" 20 "a part of the server"; done
  done
  echo "10 runs ended: $(cat client1.err)"
}

case $case in
  workers)
    kill_workers 4 1 "$bin/06_spares_against_stragglers" --epochs 24
    kill_workers 3 2 "$bin/05_four_setups" between-async --epochs 16
    ;;
  parts)
    kill_parts 1 "$bin/05_four_setups" between-sync --epochs 100
    kill_parts 2 "$bin/05_four_setups" between-async --epochs 100
    ;;
esac
