#!/usr/bin/env bash
# run.sh MPICXX MPIRUN SOURCE WORK CXX COMPILED build|run - `build` builds ranks.cpp and examples with this MPI, and links
# COMPILED, the tests' cleave::compiled; `run` runs ranks on 1, 2, 3, 4 and 8 processes, and as threads of 2 and 3 (by MPICH
# on 2 and 4, and as threads of 2); then an example as a user would; then a rank that hangs, ranks that differ, and a program without MPI under mpirun.
set -eu
mpicxx=$1 mpirun=$2 source=$3 work=$4 cxx=$5 compiled=$6 stage=$7
export OMPI_CXX=$cxx MPICH_CXX=$cxx OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
build() { "$mpicxx" -DCLEAVE_MPI -DCLEAVE_COMPILED -std=c++20 "${3:--O0}" --param ggc-min-heapsize=1000000 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -I "$source/include" -pthread "$1" -o "$2" "$compiled"; }
if [ "$stage" = build ]; then
  rm -rf "$work" && mkdir -p "$work"
  build "$source/tests/backend/mpi/ranks.cpp" "$work/ranks"
  [[ $mpirun == *openmpi* ]] || exit 0  # the rest is the same program
  build "$source/examples/02_cifar_data_parallel.cpp" "$work/cifar" -O1  # convolutions compute for long
  build "$source/tests/backend/mpi/fit.cpp" "$work/fit"
  build "$source/tests/examples/stop.cpp" "$work/stop"
  build "$source/examples/08_sandblaster.cpp" "$work/sandblaster"
  "$cxx" -DCLEAVE_COMPILED -std=c++20 -O0 -I "$source/include" -pthread "$source/examples/02_cifar_data_parallel.cpp" -o "$work/alone" "$compiled"
  exit 0
fi
counts="1 2 3 4 8" threads="2x2 2x3 2x4 3x2"
[[ $mpirun == *openmpi* ]] || counts="2 4" threads=2x2  # the same program
for n in $counts; do
  timeout 120 "$mpirun" -n $n "$work/ranks" differ
done
for each in $threads; do
  timeout 120 "$mpirun" -n ${each%x*} "$work/ranks" threads ${each#*x}
done

! said=$(timeout 60 "$mpirun" -n 2 "$work/ranks" hang 2>&1) || exit 1
[[ $said == *"rank 0 waited 300 ms for rank 1 at step"* ]] || { echo "$said"; exit 1; }

# A rank that is killed ends them all, within the time and with an error, and what was saved before is whole.
rm -f "$work/model.safetensors"
code=0
timeout 60 "$mpirun" -n 3 "$work/ranks" die "$work/model.safetensors" >"$work/die.log" 2>&1 || code=$?
[[ $code -ne 0 && $code -ne 124 ]] || { echo "code $code"; cat "$work/die.log"; exit 1; }
for _ in $(seq 50); do pgrep -f "$work/ranks die" >/dev/null || break; sleep 0.1; done
! pgrep -f "$work/ranks die" >/dev/null || { echo "a rank lives on"; exit 1; }
said=$(timeout 60 "$mpirun" -n 1 "$work/ranks" look "$work/model.safetensors")
[[ $said == *"the checkpoint of step 3 is whole"* ]] || { echo "$said"; exit 1; }

if [[ $mpirun != *openmpi* ]]; then echo "$mpirun: all as it should be"; exit; fi

cd "$work"
train="--limit 256 --epochs 1 --json"
timeout 120 "$mpirun" -n 2 ./cifar $train --out two >two.txt 2>two.log
./cifar $train --ranks 2 --out threads >threads.txt 2>threads.log
cmp two/checkpoint.safetensors threads/checkpoint.safetensors
[ "$(wc -l <two.txt)" -eq 1 ]
grep -q "processes, over MPI" two.log
timeout 120 "$mpirun" -n 2 ./cifar $train --ranks 4 --out hybrid >hybrid.txt 2>hybrid.log
./cifar $train --ranks 4 --out four >four.txt 2>four.log
cmp hybrid/checkpoint.safetensors four/checkpoint.safetensors
grep -q "2 processes, over MPI, each with 2 ranks as threads" hybrid.log
# A signal to one rank stops all, at the same step.
timeout 600 "$source/tests/examples/stop.sh" "$work/stop" "$mpirun" -n 2
blast="--limit 1000 --epochs 5 --json"
if [ -n "${CLEAVE_DATA:-}" ]; then
  timeout 120 "$mpirun" -n 3 ./sandblaster --data "$CLEAVE_DATA" $blast --out blast3 >blast3.txt 2>blast3.log
  ./sandblaster --data "$CLEAVE_DATA" $blast --ranks 2 --out blast >blast.txt 2>blast.log
  cmp blast3/checkpoint.safetensors blast/checkpoint.safetensors
  [ "$(wc -l <blast3.txt)" -eq 1 ]
  grep -q "processes, over MPI" blast3.log
fi

# A program's own training loop: as many processes as one likes, and an error of one ends all.
./fit fit1.safetensors >fit1.txt
for n in 2 4; do
  timeout 60 "$mpirun" -n $n ./fit fit$n.safetensors >fit$n.txt
  cmp fit$n.txt fit1.txt && cmp fit$n.safetensors fit1.safetensors
  sed 's/,"seconds".*//' fit$n.safetensors.jsonl | cmp - <(sed 's/,"seconds".*//' fit1.safetensors.jsonl)
  grep -q "\"ranks\":$n," fit$n.safetensors.html
done
[ "$(wc -l <fit4.safetensors.jsonl)" -eq 4 ]
timeout 60 "$mpirun" -n 2 ./fit threads.safetensors threads >threads.txt
cmp threads.txt fit1.txt && cmp threads.safetensors fit1.safetensors
grep -q '"ranks":4,' threads.safetensors.html
wrong() {
  ! said=$(timeout 60 "$mpirun" -n 2 ./fit none.safetensors "$1" 2>&1) || exit 1
  [[ $said == *"$2"* && ! -e none.safetensors ]] || { echo "$said"; exit 1; }
}
wrong data "rank 1 has other samples or options than rank 0"
wrong plan "rank 1 has another plan or seed than rank 0"
wrong seed "rank 1 has another plan or seed than rank 0"
said=$(timeout 60 "$mpirun" -n 2 ./fit fewer.safetensors fewer 2>&1) && exit 1
[[ $said == *"rank 1 has other samples or options than rank 0"* ]] || { echo "$said"; exit 1; }
said=$(timeout 60 "$mpirun" -n 2 ./fit steps.safetensors steps 2>&1) && exit 1
[[ $said == *"rank 1 has other samples or options than rank 0"* ]] || { echo "$said"; exit 1; }
wrong alone "rank 1: no data here"
wrong share ".replicas = 3 have 3 ranks, which 2 processes cannot share equally"
wrong watch "rank 1: enough"

! said=$(timeout 60 "$mpirun" -n 2 ./cifar --ranks 3 2>&1) || exit 1
[[ $said == *"--ranks 3, but"*"has started 2 processes; say a multiple of 2, or leave it out"* ]] || { echo "$said"; exit 1; }

! said=$(timeout 60 "$mpirun" -n 2 ./alone 2>&1) || exit 1
[[ $said == *"each would train alone: build with cleave::mpi"* ]] || { echo "$said"; exit 1; }
echo "$mpirun: all as it should be"
