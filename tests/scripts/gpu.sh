#!/usr/bin/env bash
# gpu.sh SCRIPT FOLDER - scripts/gpu on a machine whose GPU and programs are stand-ins: what is missing, fails, takes too
# long or is cut short ends in the results and in the exit code.
set -eu
script=$1 folder=$2 root=$(cd "$(dirname "$1")/.." && pwd)
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"

# A kit as build packs it, of programs that say one row each and do what FAKE says of them.
kit() {
  rm -rf kit out work
  mkdir -p kit/{bin,scripts,benchmarks,data/mnist} tools torch/torch
  cp "$script" kit/scripts/gpu
  cp "$root/benchmarks/gpu_table.py" kit/benchmarks/
  echo 0123abcd4567 >kit/commit
  echo "sm_90a, by a stand-in" >kit/built
  cat >tools/program <<'END'
#!/usr/bin/env bash
name=$(basename "$0")
out=
for word in "$@"; do [ "$out" != next ] || out=$word; [ "$word" != --out ] || out=next; done
case " ${FAKE:-} " in *" slow:$name "*) echo "{\"row\": \"$name.first\", \"side\": \"cleave\", \"ms\": 1}"; sleep 60 ;; esac
case " ${FAKE:-} " in *" fails:$name "*) echo "error: as it was told"; exit 1 ;; *" skips:$name "*) echo "skipped"; exit 77 ;; esac
echo "{\"row\": \"$name\", \"side\": \"cleave\", \"ms\": 2}"
if [ -n "$out" ]; then
  mkdir -p "$out"
  case " ${FAKE:-} " in *" differs "*) echo "$out" ;; *) echo same ;; esac >"$out/checkpoint.safetensors"
  echo '{"accuracy":0.5}'
fi
END
  chmod +x tools/program
  for name in gpu_steps gpu_libraries kernels steps replicas few cublas cudnn 01_mnist_mlp_cuda 02_cifar_data_parallel_cuda variant.early; do
    cp tools/program "kit/bin/$name"
  done
  cp tools/program tools/compute-sanitizer
  cp tools/program tools/ncu
  rm -f tools/nsys
  printf '#!/bin/sh\necho "GPU 0: a stand-in"\n' >tools/nvidia-smi
  chmod +x tools/nvidia-smi
  printf 'class cuda:\n    is_available = staticmethod(lambda: True)\n' >torch/torch/__init__.py
  printf 'print("{\\"row\\": \\"peer\\", \\"side\\": \\"torch eager\\", \\"ms\\": 3}")\n' >kit/benchmarks/gpu_peers.py
}
# runs CODE ARGUMENTS ...: the script, from the kit; its exit code is the one wanted.
runs() {
  local wanted=$1 code=0
  shift
  env -u CLEAVE_DATA PATH="$PWD/tools:/usr/bin:/bin" CUDA_HOME=/nowhere PYTHONPATH="$PWD/torch" FAKE="${FAKE:-}" \
    kit/scripts/gpu "$@" >said.txt 2>&1 || code=$?
  [ "$code" -eq "$wanted" ] || { echo "gpu $*: exit code $code, wanted $wanted"; cat said.txt; exit 1; }
}
# outcome STEP OUTCOME TEXT: of the results, which hold nothing but four files.
outcome() {
  python3 - "$@" <<'END'
import json, sys
step, outcome, text = sys.argv[1:]
results = json.load(open("out/results.json"))
found = [s for s in results["stages"] if s["stage"] == step]
if len(found) != 1 or found[0]["outcome"] != outcome or text not in found[0]["why"]:
    sys.exit(f"{step}: wanted {outcome}, '{text}', got {found}")
END
}
says() { grep -qF -- "$1" said.txt || { echo "wanted '$1', got:"; cat said.txt; exit 1; }; }

kit
runs 0
says "scripts/gpu build"
runs 2 smoke tset
says "no stage or option 'tset'"
runs 2 smoke --seconds soon
says "a whole number is wanted, got 'soon'"
if ! ls /dev/nvidia[0-9]* >/dev/null 2>&1; then
  rm tools/nvidia-smi
  if ! PATH=/usr/bin:/bin command -v nvidia-smi >/dev/null; then
    runs 2 smoke --out "$PWD/out"
    says "there is no GPU here"
  fi
  kit
fi
rm kit/commit
runs 1 smoke --out "$PWD/out"
says "nothing was built"

kit  # all is well
runs 0 smoke test bench peers profile --out "$PWD/out"
[ "$(cd out && echo *)" = "logs.tar.gz results.json results.jsonl table.txt" ] || { echo "the results are: $(ls out)"; exit 1; }
for step in smoke.kernels test.steps bits.bf16 bits.f32 racecheck test.cudnn figures.G7 variant.early mnist peers.written peers.compiled ncu.G7.sum.8; do
  outcome "$step" ok ""
done
tar -tzf out/logs.tar.gz | grep -q log/figures.G3.txt
python3 - <<'END'
import json
results = json.load(open("out/results.json"))
assert results["about"]["commit"] == "0123abcd4567", results["about"]
assert {"gpu_steps", "peer"} <= {f["row"] for f in results["figures"]}, results["figures"]
assert any(s.get("result", {}).get("accuracy") == 0.5 for s in results["stages"])
END
runs 0 smoke --out "$PWD/out"  # a later call adds to what is there
outcome test.steps ok ""

kit  # what is missing fails, and the rest goes on
rm kit/bin/steps tools/compute-sanitizer
runs 1 test --out "$PWD/out"
outcome test.steps failed "bin/steps is missing"
outcome racecheck failed "not on this machine"
outcome test.replicas ok ""
kit
rm -r kit/data
rm -r torch
runs 1 bench --out "$PWD/out"
outcome mnist failed "no data"
outcome peers.written failed "no torch"
outcome figures.mnist ok ""
kit
rm tools/ncu
runs 1 profile --out "$PWD/out"
outcome profile failed "neither ncu nor nsys"

kit  # what fails, is skipped, or differs
FAKE="fails:kernels skips:replicas differs" runs 1 test --out "$PWD/out"
outcome test.kernels failed "error: as it was told"
outcome test.replicas failed "it was skipped"
outcome bits.f32 failed "differ"
outcome test.steps ok ""

kit  # what takes too long leaves its rows, and the rest no time
FAKE="slow:few" runs 1 smoke --seconds 3 --out "$PWD/out"
outcome smoke.kernels failed "not done within"
outcome smoke.figures failed "no time was left"
grep -q '"row": "few.first"' out/results.jsonl

for signal in TERM KILL; do  # cut short: what was known is kept
  kit
  env PATH="$PWD/tools:/usr/bin:/bin" CUDA_HOME=/nowhere FAKE="slow:gpu_steps" kit/scripts/gpu smoke --out "$PWD/out" >said.txt 2>&1 &
  script_at=$!
  for _ in $(seq 200); do grep -qs gpu_steps.first out/results.jsonl && break; sleep 0.1; done
  left=$(pgrep -P "$(pgrep -d, -P "$script_at")" || true)
  kill "-$signal" "$script_at"
  wait "$script_at" 2>/dev/null && { echo "$signal: exit code 0"; exit 1; }
  [ -z "$left" ] || kill $left 2>/dev/null || true
  outcome smoke.kernels ok ""
  grep -q gpu_steps.first out/results.jsonl
  [ "$signal" = KILL ] || outcome smoke.figures failed "cut short"
done
echo "scripts/gpu: right"
