#!/usr/bin/env bash
# stop.sh STOP [LAUNCHER...] - signals, a divergence, a full disk and failing files during a run of stop.cpp: what was
# saved last is there, and a resumed run ends with the bits of one that was never stopped. With a launcher (mpirun -n 2):
# the signals only, sent to one of its processes.
set -eum  # with job control a program in the background hears SIGINT
stop=$1
shift
launcher=("$@")
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; wait 2>/dev/null; rm -rf "$work"' EXIT
cd "$work"
fail() { echo "$*"; tail -n 5 ./*.err; exit 1; }
epochs=400  # of 8 steps
ranks=()
[ ${#launcher[@]} -gt 0 ] || ranks=(--ranks 2)
# wants CODE: that is how the last command ended.
wants() { [ "$code" -eq "$1" ] || fail "${2:-a run} ended with code $code, wanted $1"; }
run() { code=0; "${launcher[@]}" "$stop" "$@" >run.out 2>run.err || code=$?; }
# signalled SIGNAL FOLDER: a run that gets the signal once it has made steps; for processes of a launcher, rank 1 does.
signalled() {
  rm -f run.out
  local before=0
  [ ! -e "$2/metrics.jsonl" ] || before=$(wc -l <"$2/metrics.jsonl")
  "${launcher[@]}" "$stop" train --epochs $epochs "${ranks[@]}" --out "$2" --resume auto >run.out 2>run.err &
  local job=$! to=$!
  for ((i = 0; i < 1200; ++i)); do
    [ ! -e "$2/metrics.jsonl" ] || [ "$(wc -l <"$2/metrics.jsonl")" -lt $((before + 20)) ] || break
    sleep 0.05
  done
  [ ${#launcher[@]} -eq 0 ] || to=$(pgrep -n -P "$job" -f "$stop train")
  kill "-$1" "$to"
  for ((i = 0; i < 600; ++i)); do kill -0 "$job" 2>/dev/null || break; sleep 0.05; done
  ! kill -0 "$job" 2>/dev/null || fail "$1: the run hangs"
  code=0
  wait "$job" || code=$?
}
increasing() {  # steps of the losses in metrics.jsonl, up to the last
  sed -n 's/^{"step":\([0-9]*\),"epoch.*/\1/p' "$1" | awk -v last=$((8 * epochs)) '$1 <= b { bad = 1 } { b = $1 } END { exit bad || b != last }' ||
    fail "$1: steps do not increase up to the last"
}

run train --epochs $epochs "${ranks[@]}" --out whole
wants 0
for s in TERM INT HUP USR1; do
  signalled $s stopped
  wants 75 "SIG$s: a run"
  grep -q "stopped by .* at step .* of $((8 * epochs)); saved stopped/checkpoint.safetensors" run.err || fail "SIG$s: does not say where"
done
printf '{"step":99999,"lo' >>stopped/metrics.jsonl
run train --epochs $epochs "${ranks[@]}" --out stopped --resume auto
wants 0
grep -q "^resumed at step [0-9]* of $((8 * epochs)): [0-9]* steps are left" run.out || fail "does not say what is left"
cmp whole/checkpoint.safetensors stopped/checkpoint.safetensors
increasing stopped/metrics.jsonl
if [ ${#launcher[@]} -gt 0 ]; then  # around a server in rank 0: the replicas wait for each other, and one is stopped
  "${launcher[@]}" "$stop" in-step --epochs 100000 --save-every 50steps --out around >run.out 2>run.err &
  job=$!
  for ((i = 0; i < 1200; ++i)); do [ ! -s around/checkpoint-previous.safetensors ] || break; sleep 0.05; done
  kill -TERM "$(pgrep -n -P "$job" -f "$stop in-step")"
  for ((i = 0; i < 600; ++i)); do kill -0 "$job" 2>/dev/null || break; sleep 0.05; done
  ! kill -0 "$job" 2>/dev/null || fail "in-step: the run hangs"
  code=0
  wait "$job" || code=$?
  wants 75 "in-step: a run"
  at=$(sed -n 's/.*saved around.*step \([0-9]*\); go on.*/\1/p' run.err)
  [ -s around/cleave.server0.safetensors ] && [ "$at" -ge 50 ] || fail "in-step: not saved"
  run in-step --epochs $((at / 8 + 20)) --out around --resume auto
  wants 0
  grep -q "replica 0: resumed at step" run.out || fail "in-step: does not go on"
  cp -r around around-done
  run in-step --epochs $((at / 8 + 20)) --out around --resume auto
  wants 0
  grep -q "nothing was written" run.out || fail "in-step: a finished run does not say so"
  diff -r around around-done
  echo "stop: right"
  exit
fi

run train --epochs $epochs --out stopped --resume auto  # finished
wants 0
grep -q "no step is left" run.out && grep -q "nothing was written" run.out || fail "a finished run does not say so"

# Two SIGINT end the run, at once (130) or saved (75), as the second comes before or after the stop; tests/train/stop.cpp
# shows that the second ends it at once.
"$stop" train --epochs $epochs --out twice >run.out 2>run.err &
until [ -s twice/metrics.jsonl ]; do sleep 0.05; done
kill -STOP $! && kill -INT $! && kill -CONT $! && kill -INT $! || true
code=0
wait $! || code=$?
[ $code -eq 130 ] || [ $code -eq 75 ] || fail "two SIGINT: code $code"

# Nobody reads any more
code=$("$stop" train --epochs 100000 --out pipe 2>run.err | head -n 3 >/dev/null; echo "${PIPESTATUS[0]}")
wants 75 "a run whose output is closed"
[ -s pipe/checkpoint.safetensors ] || fail "a closed output: nothing was saved"

# A divergence overwrites nothing
cp -r whole good
run diverge --epochs $((epochs + 10)) --out good --resume auto
wants 3 "a run that diverges"
cmp whole/checkpoint.safetensors good/checkpoint.safetensors
[ "$(wc -l <run.err)" -eq 1 ] && grep -q "good/checkpoint.safetensors is as it was before this run" run.err || fail "a divergence: what is there is not named"

# A disk that is full from some moment on: training goes on with a warning, and fails at its end
cp -r whole full && rm full/metrics.jsonl
(ulimit -f 4 && run train --epochs $((epochs + 3)) --out full --resume auto; echo $code >code)
code=$(cat code)
wants 2 "a run on a full disk"
grep -q "warning: not saved at step" run.err && tail -n 1 run.err | grep -q "full/checkpoint.safetensors is as it was" || fail "a full disk: not told"
cmp whole/checkpoint.safetensors full/checkpoint.safetensors

# A picture that cannot be written: the weights are there, the exit code tells
mkdir -p picture/samples.png
run train --epochs 2 --out picture
wants 2 "a run without its picture"
[ -s picture/checkpoint.safetensors ] && [ -s picture/loss.svg ] && grep -q "warning: picture/samples.png" run.err || fail "a picture: lost more"

# --resume auto skips what is broken
run train --epochs 2 --out broken
cp broken/checkpoint-previous.safetensors before.safetensors
head -c 1000 before.safetensors >broken/checkpoint.safetensors
run train --epochs 4 --out broken --resume auto
wants 0
grep -q "skipped broken/checkpoint.safetensors" run.out && grep -q "^--resume auto: broken/checkpoint-" run.out || fail "a broken checkpoint: not skipped"
run train --epochs 4 --out never
cmp broken/checkpoint.safetensors never/checkpoint.safetensors

# Tried before training: one line
mkdir -p folder/checkpoint.safetensors
run train --epochs 2 --out folder
wants 2 "a folder in the way"
[ "$(wc -l <run.err)" -eq 1 ] && grep -q "is a folder" run.err || fail "a folder in the way: not told in a line"
run train --epochs 2 --out run.err/below
wants 2 "a file in the way"
run train --save-every 3hours
wants 2 "--save-every 3hours"
grep -q "such as 500steps" run.err || fail "--save-every: not told"

# A client, and what the server holds
port=$((20000 + $$ % 12000))
"$stop" served --serve $port --ranks 1 --linger 2 >server.out 2>server.err &
"$stop" served --join 127.0.0.1:$port --replica 0 --ranks 1 --epochs 100000 --save-every 50steps --out client >run.out 2>run.err &
client=$!
for ((i = 0; i < 600; ++i)); do [ ! -s client/checkpoint-previous.safetensors ] || break; sleep 0.05; done
kill -TERM $client
code=0
wait $client || code=$?
wants 75 "a client"
grep -q "stopped by SIGTERM; saved client/checkpoint.safetensors" run.err || fail "a client does not say where"
[ -s client/checkpoint-previous.safetensors ] || fail "a client does not save now and then"
run served --epochs 1 --ranks 1 --out client2 --resume client/checkpoint.safetensors
wants 0

# Two processes of a launcher that sets variables, and the server that it starts in rank 0
pair() {  # PLAN OPTIONS...: in the background; their processes are in `process`
  local plan=$1 r
  shift
  port=$((port + 2))
  for r in 0 1; do
    rm -f $r.out $r.err
    RANK=$r WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "$stop" "$plan" "$@" >$r.out 2>$r.err &
    process[$r]=$!
  done
}
pair_wants() {  # CODE WHO
  local r
  for r in 0 1; do
    code=0
    wait "${process[$r]}" || code=$?
    wants "$1" "$2: rank $r"
  done
}
for plan in served in-step; do
  pair $plan --epochs 100000 --save-every 50steps --out $plan
  for ((i = 0; i < 1200; ++i)); do [ ! -s $plan/checkpoint-previous.safetensors ] || break; sleep 0.05; done
  [ -s $plan/cleave.server0.safetensors ] || fail "$plan: the server is not saved now and then"
  kill -TERM "${process[@]}"
  pair_wants 75 "$plan, stopped"
  grep -q "stopped by SIGTERM; saved $plan/checkpoint.safetensors, step .*; go on with --resume auto" 0.err || fail "$plan: does not say where"
  at=$(sed -n 's/.*step \([0-9]*\); go on.*/\1/p' 0.err)
  [ "$at" -gt 50 ] || fail "$plan: stopped at step $at"
  epochs=$((at / 4 + 20))  # there are steps left for a replica that has made all of them
  pair $plan --epochs $epochs --resume $plan/cleave.server0.safetensors --out $plan-file
  pair_wants 0 "$plan, resumed from a file"
  pair $plan --epochs $epochs --resume auto --out $plan
  pair_wants 0 "$plan, resumed"
  grep -q "container cleave goes on from $plan/cleave.server0.safetensors" 0.out || fail "$plan: does not go on"
  resumed=$(sed -n 's/^replica 0: resumed at step \([0-9]*\) of .*/\1/p' 0.out)
  [ "$resumed" -gt 50 ] && [ "$resumed" -le $((8 * epochs)) ] || fail "$plan: resumed at step $resumed after $at"
  [ $plan = served ] || cmp $plan/checkpoint.safetensors $plan-file/checkpoint.safetensors
  for r in 0 1; do  # a signal to one process: the other is stopped where it waits for that one, or for its server
    [ $plan$r != served1 ] || continue
    pair $plan --epochs 100000 --save-every never --out $plan-one$r
    until { grep -q "replica 1 of .* has joined" 0.out && grep -q "^replica 0: step" 0.out; } || ! kill -0 "${process[0]}" 2>/dev/null; do sleep 0.01; done
    kill -TERM "${process[$r]}"
    pair_wants 75 "$plan, a signal to rank $r"
    grep -q "stopped because .* was stopped by SIGTERM" $((1 - r)).err || fail "$plan, a signal to rank $r: the other does not say why"
    [ -s $plan-one$r/cleave.server0.safetensors ] && [ -s $plan-one$r/checkpoint.safetensors ] || fail "$plan: not saved"
  done
  cp -r $plan $plan-done
  pair $plan --epochs $epochs --resume auto --out $plan  # finished
  pair_wants 0 "$plan, finished"
  grep -q "0 gradients, no step was left" 0.out && grep -q "nothing was written" 0.out || fail "$plan: a finished run does not say so"
  pair $plan --epochs 1 --resume auto --out $plan  # and with fewer epochs
  pair_wants 0 "$plan, finished long ago"
  diff -r $plan $plan-done || fail "$plan: a finished run was changed"
  pair $plan --epochs $((epochs + 1)) --resume auto --out $plan  # goes on where more is asked of it
  pair_wants 0 "$plan, for longer"
  grep -q "^replica 0: resumed at step" 0.out || fail "$plan: does not go on for longer"
  ! cmp -s $plan/checkpoint.safetensors $plan-done/checkpoint.safetensors || fail "$plan: did not train for longer"
done
pair in-step --epochs $((epochs + 1)) --out whole-pair  # never stopped: the same bits
pair_wants 0 "in-step"
cmp in-step/checkpoint.safetensors whole-pair/checkpoint.safetensors
rm -rf in-step-done && cp -r in-step in-step-done
# A divergence saves nothing over it. Whether the other replica diverges too, or loses this one, is a matter of moments.
pair diverge-in-step --epochs $((epochs + 60)) --save-every never --resume auto --out in-step
diverged=0
for r in 0 1; do
  code=0
  wait "${process[$r]}" || code=$?
  [ $code -eq 2 ] || wants 3 "diverge-in-step: rank $r"
  [ $code -eq 2 ] || diverged=$((diverged + 1))
done
[ $diverged -gt 0 ] && grep -q "training has diverged" 0.err 1.err || fail "diverge-in-step: has not diverged"
diff -r in-step in-step-done || fail "a divergence has changed files"
# Nor does a stop before the first step: rank 1 never comes
port=$((port + 2))
RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "$stop" in-step --epochs $((epochs + 60)) --resume auto --out in-step >0.out 2>0.err &
alone=$!
until grep -q "replica 0 of .* has joined" 0.out || ! kill -0 $alone 2>/dev/null; do sleep 0.01; done
kill -TERM $alone
code=0
wait $alone || code=$?
wants 75 "in-step, stopped before its first step"
diff -r in-step in-step-done || fail "a stop before the first step has changed files"
# A helper of Sandblaster that gets a signal helps on; it is stopped where its coordinator is
pair portions --epochs 300 --out portions
until [ -s portions/metrics.jsonl ] || ! kill -0 "${process[0]}" 2>/dev/null; do sleep 0.01; done
kill -STOP "${process[0]}" && kill -TERM "${process[1]}" && kill -CONT "${process[0]}" || echo "portions: ended before the signal"
pair_wants 0 "a coordinator that has finished"
pair portions --epochs 300 --resume auto --out portions  # finished: no portion is given out
pair_wants 0 "a finished run by portions"
# What cannot be resumed, in a line
mkdir weights-only && cp whole-pair/checkpoint.safetensors weights-only
refused() {  # TEXT OPTIONS...: rank 0 says so; rank 1 waits for it
  local text=$1
  shift
  pair in-step "$@"
  code=0
  wait "${process[0]}" || code=$?
  wants 2 "$text: rank 0"
  { kill -9 "${process[1]}" && wait "${process[1]}"; } 2>/dev/null || true
  [ "$(wc -l <0.err)" -eq 1 ] && grep -qF -- "$text" 0.err || fail "not told in a line: $text"
}
refused "has weights-only/checkpoint.safetensors, but not weights-only/cleave.server0.safetensors" --resume auto --out weights-only
refused "saved by a run with --seed 1; this one has --seed 2" --resume auto --out in-step --seed 2
refused "holds container cleave; say --container cleave" --resume in-step/cleave.server0.safetensors --container other --out other
refused "not a file of a parameter server" --resume weights-only/checkpoint.safetensors --out other
[ ! -e other ] || fail "a refused run leaves a folder"
echo "stop: right"
