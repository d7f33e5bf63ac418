#!/usr/bin/env bash
# run.sh WAY SOURCE WORK CXX - use the library as a stranger would: package, subdirectory, pkgconfig, bare, libc++, python,
# conan, vcpkg, spack. Conan and nanobind are looked for in SOURCE/build/tools and on the path; 77 says that they are not there. Of vcpkg and Spack the
# recipes are run: what they call of these stands in tests/consumers.
set -eu
export CMAKE_GENERATOR=Ninja
way=$1 source=$2 work=$3 cxx=$4
rm -rf "$work" && mkdir -p "$work"

# The project of a user who calls find_package, configured with the further arguments; its programs are built and run.
find_package() {
  cmake -S "$source/tests/consumers/package" -B "$work/use" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=Release "$@"
  build_and_run
}
# The same where a recipe has installed it, with one component if it is here: `package` shows all, optimised.
find_package_of_recipe() { find_package -DCMAKE_CXX_FLAGS_RELEASE=-O0 -DONLY_COMPONENTS=ON "$@"; }
build_and_run() {
  cmake --build "$work/use"
  for hello in "$work"/use/hello*; do "$hello"; done
}
# configure [ARGUMENT ...] - what CMake says of a user's project
configure() { cmake -S "$source/tests/consumers/$way" -B "$work/said" -DCMAKE_CXX_COMPILER="$cxx" "$@" 2>&1; }
says() { [[ $1 == *"$2"* ]] || { echo "does not say '$2':"; echo "$1"; exit 1; }; }
is_silent() { [[ $1 != *"cleave: CMAKE_BUILD_TYPE"* ]] || { echo "warns: $1"; exit 1; }; }
warns_without_optimisation() {
  said=$(configure "$@" -DCMAKE_BUILD_TYPE= | tr -s ' \n' ' ')
  says "$said" 'cleave: CMAKE_BUILD_TYPE is empty'
  says "$said" 'Configure with -DCMAKE_BUILD_TYPE=Release'
  said=$(configure "$@" -DCMAKE_BUILD_TYPE= -DCMAKE_CXX_FLAGS=-O2) || { echo "$said"; exit 1; }
  is_silent "$said"
  said=$(configure "$@" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS=) || { echo "$said"; exit 1; }
  is_silent "$said"
}
install() {
  cmake -S "$source" -B "$work/build" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_INSTALL_PREFIX="$work/prefix" "$@"
  cmake --install "$work/build"
}

case $way in
  package)
    install -DCLEAVE_BUILD_EXAMPLES=OFF
    find_package -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DCMAKE_PREFIX_PATH="$work/prefix"
    warns_without_optimisation -DCMAKE_PREFIX_PATH="$work/prefix"
    ! said=$(configure -DWANTED=onednn -DCMAKE_PREFIX_PATH="$work/prefix" -DCLEAVE_ONEDNN_INCLUDE=/nowhere) || exit 1
    says "$said" "component 'onednn' needs oneDNN 2 (libdnnl-dev"
    ;;
  subdirectory)
    cmake -S "$source/tests/consumers/subdirectory" -B "$work/use" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=Release \
      -DCMAKE_CXX_FLAGS_RELEASE=-O0 -DCLEAVE_SOURCE="$source"
    build_and_run
    warns_without_optimisation -DCLEAVE_SOURCE="$source"
    ;;
  pkgconfig)
    install -DCLEAVE_BUILD_EXAMPLES=OFF
    pc=$(dirname "$(find "$work/prefix" -name cleave.pc)")
    "$cxx" -O0 $(PKG_CONFIG_PATH=$pc pkg-config --cflags cleave) "$source/tests/consumers/hello.cpp" -o "$work/hello" $(PKG_CONFIG_PATH=$pc pkg-config --libs cleave)
    "$work/hello"
    ;;
  bare)
    "$cxx" -std=c++20 -O2 -I "$source/include" -pthread "$source/tests/consumers/hello.cpp" -o "$work/hello"
    "$work/hello"
    ;;
  libc++)
    printf 'int main() {}' >"$work/empty.cpp"
    "$cxx" -stdlib=libc++ -include cstddef "$work/empty.cpp" -o "$work/empty" || { echo "no libc++ here: skipped"; exit 77; }
    "$cxx" -std=c++20 -O0 -stdlib=libc++ -I "$source/include" -pthread "$source/tests/consumers/hello.cpp" -o "$work/hello"
    "$work/hello"
    ;;
  python)
    PATH=$source/build/tools/bin:$PATH
    python=$(command -v python3) && "$python" -c 'import nanobind, numpy' || { echo "no nanobind or NumPy here: skipped"; exit 77; }
    install -DCLEAVE_BUILD_EXAMPLES=OFF
    cmake -S "$source/tests/consumers/python" -B "$work/use" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=Release \
      -DCMAKE_CXX_FLAGS_RELEASE=-O0 -DCMAKE_PREFIX_PATH="$work/prefix" -DPython_EXECUTABLE="$python" -DEXAMPLES="$source/examples"
    cmake --build "$work/use"
    cd "$work/use"
    export PYTHONPATH=$work/use
    says "$("$python" "$source/examples/python/train_sine.py")" 'sine(0.5) = 0.4'
    "$python" "$source/tests/consumers/python/use.py"
    ;;
  conan)
    PATH=$source/build/tools/bin:$PATH
    command -v conan >/dev/null || { echo "no Conan here: skipped"; exit 77; }
    export CONAN_HOME=$work/home CXX=$cxx
    conan profile detect
    # Conan writes beside the test package: what a user has, without what is built here
    mkdir "$work/checkout"
    cp -r "$source"/{CMakeLists.txt,LICENSE,conanfile.py,include,cmake,packaging} "$work/checkout"
    mkdir -p "$work/checkout/tests/consumers" && cp "$source/tests/consumers/hello.cpp" "$work/checkout/tests/consumers"
    # Conan tests the package by a program without optimisation
    conan create "$work/checkout" --no-remote -s compiler.cppstd=20 --test-folder=
    conan create "$work/checkout" --no-remote -s compiler.cppstd=20 -s build_type=Debug
    said=$(conan list 'cleave/*:*' --format=json)
    # the SHA-1 of nothing, whatever the settings
    says "$said" '"da39a3ee5e6b4b0d3255bfef95601890afd80709"'
    [ "$(grep -c '"info"' <<<"$said")" -eq 1 ] || { echo "more than one package: $said"; exit 1; }
    version=$(sed -n 's/.*char version\[\] = "\(.*\)".*/\1/p' "$source/include/cleave/version.hpp")
    conan install --no-remote -s compiler.cppstd=20 --requires "cleave/$version" -g CMakeToolchain -g CMakeDeps --output-folder "$work/conan"
    find_package_of_recipe -DCOMPONENTS=compiled -DCMAKE_TOOLCHAIN_FILE="$work/conan/conan_toolchain.cmake"
    ;;
  vcpkg)
    cmake -DPORT_DIR="$source/packaging/vcpkg/ports/cleave" -DOUT="$work" -DCXX="$cxx" -P "$source/tests/consumers/vcpkg/portfile.cmake"
    find_package_of_recipe -DCOMPONENTS=blas -DCMAKE_PREFIX_PATH="$work/packages/cleave"
    ;;
  spack)
    python3 "$source/tests/consumers/spack/arguments.py" "$source/packaging/spack/spack_repo/cleave/packages/cleave/package.py" >"$work/arguments"
    mapfile -t arguments <"$work/arguments"
    install "${arguments[@]}"
    find_package_of_recipe -DCOMPONENTS=blas -DCMAKE_PREFIX_PATH="$work/prefix"
    ;;
  *) echo "no such way: $way"; exit 1 ;;
esac
