# Runs the port's portfile without vcpkg: the functions that it calls stand below, as far as it uses them, and leave a
# package in OUT. Run as: cmake -DPORT_DIR=<folder of the port> -DOUT=<folder> -DCXX=<compiler> -P portfile.cmake
cmake_minimum_required(VERSION 3.23)
set(PORT cleave)
set(CURRENT_PACKAGES_DIR ${OUT}/packages/cleave)
file(REMOVE_RECURSE ${OUT})

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(code)
    message(FATAL_ERROR "${ARGV}\n${said}")
  endif()
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 a "" "SOURCE_PATH" "OPTIONS")
  if(a_UNPARSED_ARGUMENTS OR NOT VCPKG_BUILD_TYPE STREQUAL "release")
    message(FATAL_ERROR "not known here: ${a_UNPARSED_ARGUMENTS}, build type '${VCPKG_BUILD_TYPE}'")
  endif()
  run(${CMAKE_COMMAND} -S ${a_SOURCE_PATH} -B ${OUT}/build -G Ninja -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Release
      -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} -DBUILD_SHARED_LIBS=OFF ${a_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  run(${CMAKE_COMMAND} --build ${OUT}/build --target install)
endfunction()

# Moves the package's CMake files to share/<port>, where vcpkg looks, as vcpkg does; relative paths in them have to hold.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 a "" "CONFIG_PATH" "")
  set(from ${CURRENT_PACKAGES_DIR}/${a_CONFIG_PATH})
  if(NOT EXISTS ${from}/${PORT}-config.cmake)
    message(FATAL_ERROR "no ${PORT}-config.cmake in ${from}")
  endif()
  file(GLOB files ${from}/*)
  file(COPY ${files} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT})
  file(REMOVE_RECURSE ${from})
  file(GLOB rest ${CURRENT_PACKAGES_DIR}/share/cmake/*)
  if(NOT rest)
    file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/share/cmake)
  endif()
  file(GLOB targets ${CURRENT_PACKAGES_DIR}/share/${PORT}/*.cmake)
  foreach(file IN LISTS targets)
    file(READ ${file} text)
    string(REGEX REPLACE
      "get_filename_component\\(_IMPORT_PREFIX \"\\\${CMAKE_CURRENT_LIST_FILE}\" PATH\\)(\nget_filename_component\\(_IMPORT_PREFIX \"\\\${_IMPORT_PREFIX}\" PATH\\))*"
      "get_filename_component(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_FILE}\" PATH)\nget_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\nget_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)"
      text "${text}")
    string(REPLACE "\${CMAKE_CURRENT_LIST_DIR}/../../../" "\${CMAKE_CURRENT_LIST_DIR}/../../" text "${text}")
    file(WRITE ${file} "${text}")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/lib/pkgconfig/${PORT}.pc)
    message(FATAL_ERROR "no ${PORT}.pc in lib/pkgconfig")
  endif()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 a "" "" "FILE_LIST")
  configure_file(${a_FILE_LIST} ${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright COPYONLY)
endfunction()

# The manifest's version is that of the headers, and its features are components.
file(READ ${PORT_DIR}/vcpkg.json manifest)
string(JSON version GET "${manifest}" version-semver)
file(STRINGS ${PORT_DIR}/../../../../include/cleave/version.hpp line REGEX "char version")
if(NOT line MATCHES "\"${version}\"")
  message(FATAL_ERROR "vcpkg.json has version ${version}, include/cleave/version.hpp says: ${line}")
endif()
include(${PORT_DIR}/../../../../cmake/cleave-components.cmake)
string(JSON count LENGTH "${manifest}" features)
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  string(JSON feature MEMBER "${manifest}" features ${i})
  if(NOT feature IN_LIST cleave_components)
    message(FATAL_ERROR "the feature ${feature} is no component: ${cleave_components}")
  endif()
endforeach()

set(CMAKE_CURRENT_LIST_DIR ${PORT_DIR})
include(${PORT_DIR}/portfile.cmake)

# What vcpkg's checks after a build ask for
foreach(file share/cleave/copyright share/cleave/usage share/cleave/cleave-config.cmake include/cleave.hpp)
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/${file})
    message(FATAL_ERROR "the package has no ${file}")
  endif()
endforeach()
if(EXISTS ${CURRENT_PACKAGES_DIR}/debug)
  message(FATAL_ERROR "a package of headers has a folder debug")
endif()
