#!/usr/bin/env bash
# run.sh CASE BIN - the examples as a user runs them. CLEAVE_DATA names a folder with MNIST and CIFAR-10; without it the
# cases that need it end with 77 (skipped).
set -eu
case=$1 bin=$2
tokenizers=$(cd "$(dirname "$0")/../data/byte_pairs" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

field() { sed -n '$p' "$1" | sed -E "s/.*\"$2\":([^,}]*).*/\1/"; }
# all_end PROCESS ... - each of them ends with 0
all_end() {
  local process
  for process in "$@"; do wait "$process" || { echo "a process ended with code $?"; tail -n 3 ./*.txt; exit 1; }; done
}
at_least() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a >= b) }' || { echo "got $1, wanted at least $2"; exit 1; }; }
needs_data() { [ -n "${CLEAVE_DATA:-}" ] && [ -d "$CLEAVE_DATA" ] || { echo "skipped: CLEAVE_DATA names no folder"; exit 77; }; }

# refuses TEXT COMMAND...: exit code 2, one line on stderr that holds the text, nothing on disk.
refuses() {
  local text=$1 code=0
  shift
  "$@" >out.txt 2>err.txt || code=$?
  [ $code -eq 2 ] || { echo "$*: exit code $code, wanted 2"; cat err.txt; exit 1; }
  [ "$(wc -l <err.txt)" -eq 1 ] && grep -qF -- "$text" err.txt || { echo "$*: wanted one line with '$text', got:"; cat err.txt; exit 1; }
  [ ! -e out ] || { echo "$*: left something behind"; exit 1; }
}

needs_browser() { command -v chromium >/dev/null || { echo "skipped: chromium is not here"; exit 77; }; }
# browse PAGE NAME - what a browser makes of it, in NAME.dom and, an element a line, in NAME.lines; no word on the console
browse() {
  timeout 120 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$work/browser" --enable-logging=stderr \
    --dump-dom "file://$work/$1" >"$2.dom" 2>"$2.log" || { tail -n 5 "$2.log"; exit 1; }
  if grep -F CONSOLE "$2.log"; then echo "$2: the page complains"; exit 1; fi
  sed 's/></>\n</g' "$2.dom" >"$2.lines"
}
count() { grep -cE "$1" "$2" || true; }

case $case in
  mistakes)
    refuses "no option --epoch; did you mean --epochs" "$bin/02_cifar_data_parallel" --epoch 3
    refuses "whole number" "$bin/02_cifar_data_parallel" --epochs three
    refuses "--seed wants" "$bin/02_cifar_data_parallel" --seed
    refuses "a multiple of 4" "$bin/04_one_weird_trick" --ranks 6
    refuses "cannot share 8 micro-batches" "$bin/02_cifar_data_parallel" --ranks 9
    refuses "--data DIR" "$bin/01_mnist_mlp"
    refuses "/nowhere" "$bin/01_mnist_mlp" --data /nowhere
    refuses "--data DIR" "$bin/08_sandblaster"
    refuses "/nowhere" "$bin/02_cifar_data_parallel" --data /nowhere
    mkdir bad && printf 'short' >bad/data_batch_1.bin && printf 'short' >bad/test_batch.bin
    refuses "data_batch_1.bin" "$bin/02_cifar_data_parallel" --data bad
    refuses "missing.safetensors" "$bin/02_cifar_data_parallel" --resume missing.safetensors
    refuses "/nowhere/t.json: cannot write here" "$bin/02_cifar_data_parallel" --trace /nowhere/t.json
    refuses "--backend cdua: this program has host" "$bin/02_cifar_data_parallel" --backend cdua
    refuses "this program has host; for CUDA link cleave::cuda" "$bin/02_cifar_data_parallel" --backend cuda
    refuses "--backend cdua: this program has host" "$bin/08_sandblaster" --backend cdua
    refuses "a server makes no steps" "$bin/07_downpour" --serve 29500 --trace t.json
    refuses "listening on 0.0.0.0: a server that other machines can reach asks for a token" \
      "$bin/07_downpour" --serve 29500 --listen 0.0.0.0
    CLEAVE_TOKEN=short refuses "CLEAVE_TOKEN: a token has at least 16 characters" "$bin/07_downpour" --serve 29500
    openssl rand -hex 16 >token 2>/dev/null || echo 0123456789abcdef0123456789abcdef >token
    chmod 644 token
    refuses "token: other users may read or change this token" "$bin/07_downpour" --serve 29500 --token-file token
    CLEAVE_TOKEN=0123456789abcdef refuses "cannot listen on 192.0.2.1:29500" "$bin/07_downpour" --serve 29500 --listen 192.0.2.1
    refuses "no file: cannot open" "$bin/07_downpour" --serve 29500 --resume "no file"
    ;;
  standin)  # trains, writes what it says, resumes bit for bit, on another number of ranks too
    run() { "$bin/02_cifar_data_parallel" --limit 512 --seed 3 --json "$@" >out.txt 2>log.txt; }
    run --epochs 2 --ranks 2 --out whole
    for f in loss.svg metrics.jsonl checkpoint.safetensors samples.png report.html; do [ -s whole/$f ]; done
    [ "$(field out.txt steps)" = 8 ]
    run --epochs 1 --ranks 1 --out half
    run --epochs 2 --ranks 2 --out rest --resume half/checkpoint.safetensors
    cmp whole/checkpoint.safetensors rest/checkpoint.safetensors
    "$bin/04_one_weird_trick" --limit 512 --epochs 2 --ranks 4 --json --out split --resume half/checkpoint.safetensors >out.txt 2>log.txt
    [ "$(field out.txt steps)" = 8 ] && grep -q "half/checkpoint.safetensors was saved under" log.txt
    "$bin/17_resnet" --limit 256 --epochs 1 --ranks 2 --json --out resnet >out.txt 2>log.txt
    [ "$(field out.txt steps)" = 2 ]
    head -c 100000 half/checkpoint.safetensors >torn.safetensors
    rm -rf out && refuses "torn.safetensors" "$bin/02_cifar_data_parallel" --limit 512 --resume torn.safetensors
    ;;
  report)  # what a browser makes of report.html, of a run and of a resumed one, with collectives and with a server
    needs_browser
    shows() {  # FOLDER EPOCHS SAMPLES: points of curves, cells of the confusion matrix, parts, no word on the console
      browse "$1/report.html" "$1"
      [ "$(count '<circle class="held-out"' "$1.lines")" = "$2" ] || { echo "$1: not $2 held-out losses"; exit 1; }
      [ "$(count '<circle class="accuracy"' "$1.lines")" = "$2" ]
      [ "$(count '<circle class="training"' "$1.lines")" -ge "$2" ]
      [ "$(sed -n 's/.*class="cell".*>\([0-9]*\)<.*/\1/p' "$1.lines" | awk '{ s += $1 } END { print s }')" = "$3" ] || { echo "$1: cells do not sum to $3"; exit 1; }
      [ "$(count '<canvas' "$1.lines")" = 20 ]
      [ "$(count 'class="span"' "$1.lines")" -gt 20 ]
      [ "$(count 'class="bar"' "$1.lines")" -ge 7 ]
      grep -qE 'forward +0\.(convolution|product)' "$1.dom"
    }
    "$bin/02_cifar_data_parallel" --limit 512 --epochs 1 --ranks 2 --out run >/dev/null
    "$bin/02_cifar_data_parallel" --limit 512 --epochs 3 --ranks 2 --out run --resume auto >/dev/null
    shows run 3 2000
    [ -d "${CLEAVE_DATA:-}" ] || exit 0
    "$bin/06_spares_against_stragglers" --data "$CLEAVE_DATA/mnist" --limit 960 --epochs 2 --ranks 6 --out served >/dev/null
    shows served 2 10000
    grep -q 'id="staleness"' served.dom
    ;;
  plan)  # a plan's step as figures, and what a browser makes of its page: each element that the figures ask for
    needs_browser
    "$bin/cleave_plan" 2 plan.html >out.txt
    cat out.txt
    grep -qE "^step +[0-9.]+ ms$" out.txt && grep -qE "^pipeline bubble +[0-9.]+ % of all ranks' time; 11.1 %" out.txt
    browse plan.html plan
    has() { [ "$(count "$1" plan.lines)" = "$2" ] || { echo "not $2 of $1, but $(count "$1" plan.lines)"; exit 1; }; }
    has '<section id="(times|timeline|memory|traffic|curve|plan)"' 6
    has '<td class="figure"' 26  # 5 times and 8 of memory of each of 2 stages
    has 'class="link"' 16
    has '<circle class="throughput"' 4
    has '<circle class="ideal"' 2
    has 'class="bar"' 4
    [ "$(count 'class="span"' plan.lines)" -gt 100 ]
    for text in 'forward 0\.product\+bias\+relu, round 8 of 8: ' 'all_reduce 0\.product.* bytes: ' 'wait for stage' 'rank 0 to rank 1: [0-9,]+ bytes'; do
      grep -qE "<title>$text" plan.dom || { echo "no $text"; exit 1; }
    done
    refuses "cannot share 32 micro-batches" "$bin/cleave_plan" 5
    refuses "/nowhere/plan.html" "$bin/cleave_plan" 1 /nowhere/plan.html
    ;;
  arrays)  # a curve and classes learnt from arrays, by fit and by a loop of one's own, and predicted from the file
    "$bin/10_own_arrays" >out.txt
    cat out.txt
    [ -s sine.safetensors ]
    awk '/val_loss/ { loss = $NF } /^sine/ { s = $NF } END { exit !(loss > 0 && loss < 0.01 && s > 0.43 && s < 0.53) }' out.txt
    "$bin/11_own_loop" >loop.txt
    cat loop.txt
    [ -s spiral.safetensors ]
    awk '/accuracy/ { a = $NF } { n = NF } END { exit !(a > 0.98 && n == 3 && NR == 4) }' loop.txt
    awk 'BEGIN { srand(7); split("rose aster tulip", name); print "a,b,c,d,kind"
      for (i = 0; i < 150; ++i) { k = i % 3; printf "%.2f,%.2f,%.2f,%.2f,%s\n", 5 + k + rand(), 4 - k + rand(), k * k + rand(), rand(), name[k + 1] } }' \
      >flowers.csv
    refuses "flowers.safetensors: cannot open" "$bin/15_server" 29741
    "$bin/12_own_csv" flowers.csv >csv.txt
    cat csv.txt
    awk '/^accuracy of 30 samples/ { a = $NF } /: (aster|rose|tulip)$/ { named = 1 } END { exit !(a > 0.9 && named) }' csv.txt
    "$bin/15_server" 29741 2>server.txt &
    server=$!
    trap 'kill $server; rm -rf "$work"' EXIT
    ask() { { exec 3<>/dev/tcp/127.0.0.1/29741; } 2>connect.txt || return 1; echo "$1" >&3; read -r answer <&3; exec 3>&-; }
    for try in $(seq 50); do ask 5.5,3.5,0.5,0.5 && break || sleep 0.1; done
    [ "${answer:-}" = rose ] || { echo "the server says '$answer'"; cat server.txt; exit 1; }
    ask 7.5,1.5,4.5,0.5 && [ "$answer" = tulip ]
    ask seven && [ "$answer" = "say four numbers: 5.1,3.5,1.4,0.2" ]
    sed -i '40s/^/x/' flowers.csv
    refuses 'flowers.csv:40: column "a": "x' "$bin/12_own_csv" flowers.csv
    python3 - <<'EOF'
import random, struct
random.seed(7)
rows = [[random.gauss(0, 1) for _ in range(20)] for _ in range(1500)]
labels = [[float(r[k] + 0.5 * r[k + 5] > 0) for k in range(5)] for r in rows]
for name, values in (("x", rows), ("y", labels)):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (len(values), len(values[0]))
    head = head.ljust(117) + "\n"
    with open(name + ".npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        for row in values:
            file.write(struct.pack("<%df" % len(row), *row))
EOF
    "$bin/16_multi_label" x.npy y.npy >songs.txt
    cat songs.txt
    awk '/^of 300 songs/ { f1 = $NF } END { exit !(f1 > 0.9) }' songs.txt
    refuses "x.npy: rows of 20 numbers, but the data set's target has 5" "$bin/16_multi_label" x.npy x.npy
    "$bin/23_segmentation" 1 >segments.txt
    cat segments.txt
    [ "$(grep -cE '^FCN-(32|16|8)s: [0-9.]+ % of the pixels, mean intersection over union 0\.[0-9]+$' segments.txt)" = 3 ]
    for i in $(seq 300); do echo "to be, or not to be: that is the question"; done >plays.txt
    "$bin/13_characters" plays.txt 3 >characters.txt
    cat characters.txt
    awk '/^epoch 3/ { held_out = $NF } /not to be: that is/ { drawn = 1 } END { exit !(held_out < 0.1 && drawn) }' characters.txt
    if [ -x "$bin/14_pictures" ]; then
      python3 - <<'EOF'
import os, random, struct
random.seed(7)
for kind, name in enumerate(("lines", "rows")):
    os.makedirs("pictures/" + name)
    for i in range(60):
        at, wide = random.randrange(3, 26), random.randrange(2, 5)
        lit = lambda x, y: at <= (x, y)[kind] < at + wide
        pixels = bytes(c for y in range(32) for x in range(32) for c in ((250, 200, 150) if lit(x, y) else (20, 30, 40)))
        head = struct.pack("<2sIHHIIiiHHIIiiII", b"BM", 54 + len(pixels), 0, 0, 54, 40, 32, 32, 1, 24, 0, len(pixels), 0, 0, 0, 0)
        with open(f"pictures/{name}/{i}.bmp", "wb") as file:
            file.write(head + pixels)
EOF
      "$bin/14_pictures" pictures >pictures.txt
      cat pictures.txt
      awk '/accuracy/ { a = $NF } END { exit !(a > 0.9) }' pictures.txt
    fi
    ;;
  texts)  # models of sequences learn a line, and go on with it
    for i in $(seq 300); do echo "to be, or not to be: that is the question"; done >plays.txt
    "$bin/18_gpt" plays.txt 30 >gpt.txt
    "$bin/19_lstm" plays.txt 60 >lstm.txt
    for text in gpt lstm; do
      tail -4 $text.txt
      awk '/^epoch/ { held_out = $NF } /^to be, or not to be: that is the question$/ { ++n } END { exit !(held_out < 0.2 && n > 2) }' $text.txt
    done
    "$bin/22_experts" plays.txt 8 >experts.txt
    tail -4 experts.txt
    awk '/^epoch/ { held_out = $NF } END { exit !(held_out < 1) }' experts.txt
    grep -qE 'choices are dropped; each expert takes( [0-9.]+ %){8}$' experts.txt
    refuses "nothing.txt: cannot open this file" "$bin/18_gpt" nothing.txt
    gpt2() { refuses "$1" "$bin/20_gpt2" --weights "$2" --prompt "$3"; }
    gpt2 "nothing.txt: cannot open this file" nothing.txt 464
    gpt2 "plays.txt: refused as a safetensors file" plays.txt "464 3290 318"
    gpt2 "--prompt: 'The' is no number of a token, and no vocab.json" plays.txt "The dog is"
    for files in "vocab.json merges.txt" tokenizer.json; do  # of 500 tokens
      mkdir gpt2 && cp plays.txt gpt2
      for file in $files; do cp "$tokenizers/${file/tokenizer/gpt2}" gpt2/$file; done
      gpt2 "the tokenizer beside gpt2/plays.txt has 500 tokens, but GPT-2 has 50257" gpt2/plays.txt "The dog is"
      rm -r gpt2
    done
    printf 'x%.0s\377' $(seq 200) >bytes.txt
    refuses "bytes.txt: byte 1 is 255, but the vocabulary has tokens 0 to 127" "$bin/19_lstm" bytes.txt
    ;;
  exercises)  # what each of them is to show; the last line of each is its answer
    answers() { tail -n 1 "$1" | grep -qE "^answer: $2" || { echo "$1 does not end with the answer '$2'"; exit 1; }; }
    "$bin/exercise_01_out_of_memory" >memory.txt
    cat memory.txt
    awk '/does not fit/ { ++n } /^Adam, columns on four/ { four = $NF } END { exit !(NR == 8 && n == 2 && four < 1200) }' memory.txt
    answers memory.txt "optimizer takes [0-9]+ % of .*plain SGD.*Adam, columns on four"
    port=$((20000 + $$ % 12000))
    "$bin/exercise_07_forgotten_save" --serve $port --linger 20 >server.txt 2>&1 &
    server=$!
    until grep -qs "^serving" server.txt; do kill -0 $server && sleep 0.1; done
    "$bin/exercise_07_forgotten_save" --join 127.0.0.1:$port --replica 0 --save-every never --out lost --json >lost.txt
    rm -r lost
    "$bin/exercise_07_forgotten_save" --join 127.0.0.1:$port --out found --json >answer.txt
    kill $server
    cat lost.txt answer.txt
    answers answer.txt "no, the server has the network: found/checkpoint.safetensors"
    grep -v "^answer: " answer.txt >found.txt
    [ -s found/checkpoint.safetensors ] && [ "$(field found.txt accuracy)" = "$(field lost.txt accuracy)" ]
    at_least "$(field found.txt accuracy)" 0.95
    "$bin/exercise_08_sweep" >sweep.txt
    cat sweep.txt
    awk '/^answer/ { next } { a = $NF } NR == 1 { best = a } a > last && NR > 1 { bad = 1 } { last = a } END { exit !(NR == 4 && best > 0.95 && !bad) }' sweep.txt
    answers sweep.txt "of 9 settings the best three are width $(sed -nE '1s/.*width +([0-9]+), rate ([^:]+):.*/\1 with rate \2/p' sweep.txt), "
    "$bin/exercise_09_ensemble" >ensemble.txt
    cat ensemble.txt
    awk '/^together/ { a = $2 } END { exit !(a > 0.9) }' ensemble.txt
    answers ensemble.txt "the three together make [0-9]+ mistakes, the best one alone [0-9]+: together they are (better|worse|as good)"
    "$bin/exercise_10_asynchronous" >asynchronous.txt
    cat asynchronous.txt
    awk '/^answer/ { next } $3 >= 0.95 { ++n } END { exit n != 2 }' asynchronous.txt
    answers asynchronous.txt "a?synchronous replicas are first, in [01]\."
    "$bin/exercise_10_vertical_slices" >slices.txt
    cat slices.txt
    awk '/^whole *1 ranks/ { w = $5 + 0 } /^in columns *2 ranks/ { c = $6 + 0 } END { exit !(w > 0.95 && c > 0.95) }' slices.txt
    answers slices.txt "in columns it takes [0-9.]+ of the time: it is (faster|slower); the accuracy differs by .*: it learns (as well|otherwise)"
    ;;
  mnist)  # 97 % on the 10,000 test images; the same bits on 1, 2 and 4 ranks
    needs_data
    "$bin/01_mnist_mlp" --data "$CLEAVE_DATA" --ranks 4 --out r4 --json >out.txt 2>log.txt
    cat out.txt
    at_least "$(field out.txt accuracy)" 0.97
    for r in 1 2 4; do "$bin/01_mnist_mlp" --data "$CLEAVE_DATA" --ranks $r --epochs 1 --out same$r >/dev/null; done
    cmp same1/checkpoint.safetensors same2/checkpoint.safetensors
    cmp same1/checkpoint.safetensors same4/checkpoint.safetensors
    ;;
  sandblaster)  # 20 iterations on 6,000 images; the same loss on 1, 2 and 4 replicas, whoever was late
    needs_data
    for r in 1 2 4; do
      "$bin/08_sandblaster" --data "$CLEAVE_DATA" --ranks $r --limit 6000 --epochs 20 --json >out$r.txt 2>log.txt
      cat out$r.txt
      at_least "$(field out$r.txt accuracy)" 0.9
      [ "$(field out$r.txt loss)" = "$(field out1.txt loss)" ]
    done
    port=$((20000 + $$ % 12000))  # three processes, one of which is killed: the others do its portions
    for r in 2 1 0; do
      RANK=$r WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "$bin/08_sandblaster" --data "$CLEAVE_DATA" --limit 6000 \
        --epochs 20 --json --out apart$r >apart$r.txt 2>apart$r.log &
      process[$r]=$!
    done
    until grep -q "iteration 2:" apart0.log 2>/dev/null || ! kill -0 "${process[0]}" 2>/dev/null; do sleep 0.05; done
    kill -9 "${process[2]}"
    all_end "${process[0]}" "${process[1]}"
    cat apart0.txt
    [ "$(field apart0.txt loss)" = "$(field out1.txt loss)" ]
    "$bin/08_sandblaster" --data "$CLEAVE_DATA" --limit 6000 --epochs 21 --resume apart0/checkpoint.safetensors --json >more.txt 2>log.txt
    [ "$(field more.txt steps)" = 21 ]
    ;;
  server)  # a token for everybody; stopped by a signal it saves, and goes on with its clients, which have the same bits
    needs_data
    port=$((20000 + $$ % 12000))
    sync="$bin/05_four_setups between-sync --ranks 2"
    train="--data $CLEAVE_DATA --epochs 1"
    printf '%s\n' 0123456789abcdef0123456789abcdef >token
    chmod 600 token
    refuses "asks for a token: set CLEAVE_TOKEN" bash -c "
      $sync --serve $port --token-file token --out s >server0.txt & server=\$!
      until grep -qs 'with a token' server0.txt; do sleep 0.1; done
      code=0; $sync --join 127.0.0.1:$port --replica 0 $train --out c || code=\$?
      kill -TERM \$server; stopped=0; wait \$server || stopped=\$?
      [ \$stopped -eq 75 ] || echo \"the server ended with code \$stopped, wanted 75\" >&2
      exit \$code"
    serve() { $sync --serve "$1" --linger 3 --token-file token --out "$2" --resume auto >>"$2.txt" 2>&1 & server=$!; }
    clients() {
      for r in 0 1; do
        $sync --join "127.0.0.1:$1" --replica $r --token-file token $train --out "$2$r" >"$2$r.txt" 2>&1 &
        client[$r]=$!
      done
    }
    serve $port whole
    clients $port undisturbed
    all_end "${client[@]}" $server
    port=$((port + 1))
    serve $port stopped
    clients $port disturbed
    until grep -qs "step" disturbed0.txt || ! kill -0 "${client[0]}"; do sleep 0.02; done
    kill -TERM $server
    code=0
    wait $server || code=$?
    [ $code -eq 75 ] && [ -s stopped/cleave.server0.safetensors ] || { echo "stopped with code $code"; cat stopped.txt; exit 1; }
    serve $port stopped
    all_end "${client[@]}" $server
    grep -q "goes on from stopped/cleave.server0.safetensors" stopped.txt
    grep -q "connected again" disturbed0.txt
    cmp undisturbed0/checkpoint.safetensors disturbed0/checkpoint.safetensors
    ;;
  cifar)  # a reduced run, on 10,000 images: it learns (chance is 10 %). What a full run reaches is measured, not tested
    needs_data
    "$bin/02_cifar_data_parallel" --data "$CLEAVE_DATA" --limit 10000 --epochs 2 --ranks 2 --out r2 --json >out.txt 2>log.txt
    cat out.txt
    at_least "$(field out.txt accuracy)" 0.38
    ;;
  towers)  # AlexNet, a tower on each rank; three steps
    needs_data
    "$bin/21_alexnet" "$CLEAVE_DATA" 48 1 >out.txt 2>log.txt
    cat log.txt
    grep -q "96 pictures to learn from, 24 held out" out.txt
    grep -q "epoch 1 of 1, loss [01][.].*val_accuracy" log.txt
    ;;
  split)  # two ranks share a layer, and send what the constants say; tests/train/trainer.cpp compares with the whole net
    needs_data
    "$bin/03_split_a_layer" --data "$CLEAVE_DATA" --epochs 2 --json >out.txt 2>log.txt
    cat out.txt
    at_least "$(field out.txt accuracy)" 0.94
    [ "$(field out.txt elements_sent)" -ge "$((64000 * $(field out.txt steps)))" ]
    ;;
  agreements)  # four set-ups by one main, the synchronous two with the same bits; spares; Downpour
    needs_data
    common="--data $CLEAVE_DATA --ranks 2 --epochs 1 --json"
    for setup in in-sync in-async; do
      "$bin/05_four_setups" $setup $common --out $setup >out.txt 2>log.txt
      at_least "$(field out.txt accuracy)" 0.9
    done
    port=$((20000 + $$ % 12000))  # below those that the system gives to clients
    for setup in between-sync between-async; do
      port=$((port + 1))
      "$bin/05_four_setups" $setup --serve $port --ranks 2 --linger 3 >server.txt &
      server=$!
      "$bin/05_four_setups" $setup --join 127.0.0.1:$port --container a --replica 1 $common >one.txt 2>log.txt &
      one=$!
      "$bin/05_four_setups" $setup --join 127.0.0.1:$port --container a --replica 0 $common --out $setup >out.txt 2>log.txt
      all_end $one $server
      at_least "$(field out.txt accuracy)" 0.9
    done
    cmp in-sync/checkpoint.safetensors between-sync/checkpoint.safetensors
    "$bin/06_spares_against_stragglers" --data "$CLEAVE_DATA" --ranks 8 --json >out.txt 2>log.txt
    at_least "$(field out.txt accuracy)" 0.9
    at_least "$(field out.txt dropped)" 100
    "$bin/07_downpour" --data "$CLEAVE_DATA" --ranks 3 --json >out.txt 2>log.txt
    at_least "$(field out.txt accuracy)" 0.9
    rm -rf out && refuses "no set-up 'between'" "$bin/05_four_setups" between
    refuses "is no address" "$bin/05_four_setups" in-async --join nowhere --data "$CLEAVE_DATA"
    ;;
esac
echo "$case: right"
