#!/usr/bin/env bash
# run.sh WAY SOURCE WORK CXX - use the library as a stranger would: package, subdirectory, pkgconfig or bare.
set -eu
export CMAKE_GENERATOR=Ninja
way=$1 source=$2 work=$3 cxx=$4
rm -rf "$work" && mkdir -p "$work"
case $way in
  package | pkgconfig)
    cmake -S "$source" -B "$work/build" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_INSTALL_PREFIX="$work/prefix" -DCLEAVE_BUILD_EXAMPLES=OFF
    cmake --install "$work/build"
    ;;
esac
case $way in
  package) cmake -S "$source/tests/consumers/package" -B "$work/use" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$work/prefix" ;;
  subdirectory) cmake -S "$source/tests/consumers/subdirectory" -B "$work/use" -DCMAKE_CXX_COMPILER="$cxx" -DCLEAVE_SOURCE="$source" ;;
esac
case $way in
  package | subdirectory)
    cmake --build "$work/use"
    for hello in "$work"/use/hello*; do "$hello"; done
    ;;&
  package)  # what a missing component wants is said
    ! said=$(cmake -S "$source/tests/consumers/package" -B "$work/missing" -DCMAKE_CXX_COMPILER="$cxx" -DWANTED=onednn \
      -DCMAKE_PREFIX_PATH="$work/prefix" -DCLEAVE_ONEDNN_INCLUDE=/nowhere 2>&1) || exit 1
    [[ $said == *"component 'onednn' needs oneDNN 2 (libdnnl-dev"* ]] || { echo "$said"; exit 1; }
    ;;
  pkgconfig)
    pc=$(dirname "$(find "$work/prefix" -name cleave.pc)")
    "$cxx" $(PKG_CONFIG_PATH=$pc pkg-config --cflags cleave) "$source/tests/consumers/hello.cpp" -o "$work/hello" $(PKG_CONFIG_PATH=$pc pkg-config --libs cleave)
    exec "$work/hello"
    ;;
  bare)
    "$cxx" -std=c++20 -I "$source/include" -pthread "$source/tests/consumers/hello.cpp" -o "$work/hello"
    exec "$work/hello"
    ;;
esac
