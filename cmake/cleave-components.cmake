# The components: what a program takes besides the headers. cleave_add(name) looks for one, makes cleave::<name> of it and
# says what it takes, or why there is none; then cleave_<name>_NEEDS is what to install. Each is found by a macro below.
set(cleave_components compiled blas onednn mpi cuda nccl cublas cudnn python)

function(cleave_add name)
  set(cleave_${name}_NEEDS "" PARENT_SCOPE)
  if(TARGET cleave::${name})
    return()
  endif()
  set(_on cleave::cleave)  # what it stands on
  set(_links "")           # what it links; said as `taken`
  set(_include "")
  set(_language "")        # the only one that is told of it
  set(_options "")
  set(_because "")         # why there is none
  set(_needs "")
  cmake_language(CALL cleave_find_${name})
  if(_because)
    message(STATUS "cleave: ${_because}")
  endif()
  if(_needs)
    set(cleave_${name}_NEEDS ${_needs} PARENT_SCOPE)
    return()
  endif()
  if(name STREQUAL compiled)
    cleave_add_compiled(cleave_compiled)
    add_library(cleave::compiled ALIAS cleave_compiled)
    set_target_properties(cleave_compiled PROPERTIES EXCLUDE_FROM_ALL TRUE)
    return()
  endif()
  string(TOUPPER CLEAVE_${name} _defined)
  if(_language)
    set(_defined $<$<COMPILE_LANGUAGE:${_language}>:${_defined}>)
  endif()
  add_library(cleave_${name} INTERFACE)
  add_library(cleave::${name} ALIAS cleave_${name})
  target_link_libraries(cleave_${name} INTERFACE ${_on} ${_links})
  target_include_directories(cleave_${name} SYSTEM INTERFACE ${_include})
  target_compile_definitions(cleave_${name} INTERFACE ${_defined})
  target_compile_options(cleave_${name} INTERFACE ${_options})
  message(STATUS "cleave: cleave::${name} takes ${_taken}")
endfunction()

# A static library of what is the same for every plan. It has the options of the folder that adds it, as they are then;
# those that change the layout of standard types, and sanitizers, have to be said to it as well as to the program.
set(cleave_compiled_source ${CMAKE_CURRENT_LIST_DIR}/compiled.cpp)
function(cleave_add_compiled target)
  add_library(${target} STATIC ${cleave_compiled_source})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)  # it may become part of a shared library
  target_link_libraries(${target} PUBLIC cleave::cleave)
  target_compile_definitions(${target} PUBLIC $<$<COMPILE_LANGUAGE:CXX>:CLEAVE_COMPILED> PRIVATE CLEAVE_COMPILING)
endfunction()
macro(cleave_find_compiled)
  get_property(_enabled GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT "CXX" IN_LIST _enabled)
    set(_because "the language CXX is not enabled, in which cleave::compiled is written")
    set(_needs "enable_language(CXX) before find_package")
  endif()
endmacro()

# The kernels are templates of the program that includes them: without optimisation it trains about 30 times slower.
function(cleave_check_optimisation)
  get_property(_many GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" _type)
  if(_many OR "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${_type}}" MATCHES "[-/]O[1-3sgzf]")
    return()
  endif()
  if(CMAKE_BUILD_TYPE)  # asked for, as in Debug
    message(STATUS "cleave: ${CMAKE_BUILD_TYPE} builds without optimisation; training is about 30 times slower than in Release")
  else()
    message(WARNING "cleave: CMAKE_BUILD_TYPE is empty, so programs are built without optimisation and train some ten "
                    "times slower. Configure with -DCMAKE_BUILD_TYPE=Release.")
  endif()
endfunction()

# A source that is to run on a device is compiled as CUDA: says so of all of a target's sources.
function(cleave_on_cuda target)
  get_target_property(_sources ${target} SOURCES)
  set_source_files_properties(${_sources} TARGET_DIRECTORY ${target} PROPERTIES LANGUAGE CUDA)
  target_link_libraries(${target} PRIVATE cleave::cuda)
endfunction()

# Matrix products by a BLAS (OpenBLAS, MKL, ...) instead of the library's own kernels.
macro(cleave_find_blas)
  find_package(BLAS QUIET)
  set(_links BLAS::BLAS)
  set(_taken ${BLAS_LIBRARIES})
  if(NOT BLAS_FOUND)
    set(_because "no BLAS found (BLA_VENDOR, CMAKE_PREFIX_PATH); own kernels only")
    set(_needs "a BLAS (libopenblas-dev, or BLA_VENDOR and CMAKE_PREFIX_PATH)")
  endif()
endmacro()

# Matrix products and convolutions in f32 by oneDNN 2. By header and library: the package file of a oneDNN built for GPUs
# too asks for OpenCL's headers, which are not needed.
macro(cleave_find_onednn)
  find_path(CLEAVE_ONEDNN_INCLUDE oneapi/dnnl/dnnl.hpp)
  find_library(CLEAVE_ONEDNN_LIBRARY dnnl)
  set(_links ${CLEAVE_ONEDNN_LIBRARY} ${CMAKE_DL_LIBS})
  set(_taken ${CLEAVE_ONEDNN_LIBRARY})
  set(_include ${CLEAVE_ONEDNN_INCLUDE})
  cleave_says(_version ${_include}/oneapi/dnnl/dnnl_version.h "define DNNL_VERSION_MAJOR 2")
  if(NOT EXISTS ${CLEAVE_ONEDNN_INCLUDE}/oneapi/dnnl/dnnl_version.h OR NOT CLEAVE_ONEDNN_LIBRARY)
    set(_because "no oneDNN found (libdnnl-dev, CMAKE_PREFIX_PATH)")
  elseif(NOT _version)
    set(_because "${_taken} is no oneDNN 2, which cleave::onednn is written for")
  endif()
  if(_because)
    set(_needs "oneDNN 2 (libdnnl-dev, or CMAKE_PREFIX_PATH)")
  endif()
endmacro()

# Ranks as MPI processes besides threads.
macro(cleave_find_mpi)
  find_package(MPI QUIET COMPONENTS CXX)
  set(_links MPI::MPI_CXX)
  set(_taken ${MPI_CXX_LIBRARIES})
  if(NOT MPI_CXX_FOUND)
    set(_because "no MPI found (mpicxx, MPI_HOME); ranks are threads, or replicas over TCP")
    set(_needs "an MPI (libopenmpi-dev or libmpich-dev, or MPI_HOME)")
  endif()
endmacro()

# Kernels on a GPU, by an nvcc of CUDA 13 or newer.
macro(cleave_find_cuda)
  get_property(_enabled GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(_language CUDA)
  # CMake before 3.25.2 knows no C++20 for CUDA, and cxx_std_20 does not speak of it
  set(_options $<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-std=c++20>)
  set(_taken "${CMAKE_CUDA_COMPILER}, for ${CMAKE_CUDA_ARCHITECTURES}")
  if(NOT "CUDA" IN_LIST _enabled)
    set(_because "the language CUDA is not enabled; kernels run on the host")
  elseif(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 13)
    set(_because "cleave::cuda needs CUDA 13, ${CMAKE_CUDA_COMPILER} is ${CMAKE_CUDA_COMPILER_VERSION}")
  elseif(CMAKE_CUDA_FLAGS MATCHES "use_fast_math")
    set(_because "cleave::cuda: take --use_fast_math out of CMAKE_CUDA_FLAGS, its sums and roots lose digits")
  endif()
  if(_because)
    set(_needs "CUDA 13 and enable_language(CUDA) before find_package, without --use_fast_math")
  endif()
endmacro()

# Ranks on GPUs of their own.
macro(cleave_find_nccl)
  cleave_find_on_cuda(NCCL nccl.h nccl "no NCCL found (libnccl-dev, NCCL_HOME); all ranks of a program share one GPU"
                      "CUDA and NCCL (libnccl-dev, or NCCL_HOME)")
endmacro()

# Products by cuBLASLt where that was measured faster.
macro(cleave_find_cublas)
  cleave_find_on_cuda(CUBLAS cublasLt.h cublasLt "no cuBLASLt found (libcublas-dev); products on a GPU are by our own kernels"
                      "CUDA and cuBLASLt (libcublas-dev, or CMAKE_PREFIX_PATH)")
endmacro()

# Convolutions by cuDNN where that was measured faster; by one whose engines can be asked for by what a device is.
macro(cleave_find_cudnn)
  set(_recent "CUDA and a recent cuDNN 9 (cudnn9-cuda-13, CUDNN_HOME or CMAKE_PREFIX_PATH)")
  cleave_find_on_cuda(CUDNN cudnn_graph.h cudnn
                      "no cuDNN 9 found (cudnn9-cuda-13, or CUDNN_HOME); convolutions on a GPU are by our own kernels" ${_recent})
  if(NOT _needs)
    cleave_says(_asks ${_include}/cudnn_graph.h "CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP")
    if(NOT _asks)
      set(_because "the cuDNN in ${_include} is too old: its graph API has no device properties; convolutions on a GPU are by our own kernels")
      set(_needs ${_recent})
    endif()
  endif()
endmacro()

# Python modules, by nanobind of the Python that CMake finds, or is told of as Python_EXECUTABLE.
macro(cleave_find_python)
  find_package(Python 3.10 QUIET COMPONENTS Interpreter Development.Module)
  set(_nanobind_dir "")
  if(TARGET Python::Module)
    execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE _nanobind_dir ERROR_QUIET
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    find_package(nanobind CONFIG QUIET HINTS ${_nanobind_dir})
  endif()
  set(_taken "nanobind ${nanobind_VERSION} of ${Python_EXECUTABLE}")
  if(NOT TARGET Python::Module)
    set(_because "no Python 3.10 with its headers found (python3-dev, Python_EXECUTABLE)")
  elseif(NOT COMMAND nanobind_add_module)
    set(_because "no nanobind found (${Python_EXECUTABLE} -m pip install nanobind)")
  endif()
  if(_because)
    set(_needs "Python 3.10 with its headers (python3-dev) and nanobind (pip install nanobind)")
  endif()
endmacro()
# The Python module `name` of sources that say CLEAVE_PYTHON_MODULE(name, Train). Two modules share no types.
function(cleave_python_module name)
  cleave_find_python()  # whose targets are known in the folder that asks for them
  if(_because)
    message(FATAL_ERROR "cleave_python_module: ${_because}")
  endif()
  nanobind_add_module(${name} NB_STATIC NOMINSIZE NB_SUPPRESS_WARNINGS NB_DOMAIN ${name} ${ARGN})
  target_link_libraries(${name} PRIVATE cleave::python)
endfunction()

# A library of the toolkit, or of its own home.
macro(cleave_find_on_cuda NAME header library because needs)
  set(_on cleave::cuda)
  set(_language CUDA)
  if(NOT TARGET cleave::cuda)
    set(_needs ${needs})
  else()
    get_filename_component(_toolkit ${CMAKE_CUDA_COMPILER} DIRECTORY)
    get_filename_component(_toolkit ${_toolkit} DIRECTORY)
    find_path(CLEAVE_${NAME}_INCLUDE ${header} HINTS ENV ${NAME}_HOME ${_toolkit} PATH_SUFFIXES include)
    find_library(CLEAVE_${NAME}_LIBRARY ${library} HINTS ENV ${NAME}_HOME ${_toolkit} PATH_SUFFIXES lib64 lib)
    set(_include ${CLEAVE_${NAME}_INCLUDE})
    set(_links ${CLEAVE_${NAME}_LIBRARY})
    set(_taken ${_links})
    if(NOT _include OR NOT _links)
      set(_because "${because}")
      set(_needs "${needs}")
    endif()
  endif()
endmacro()

# Whether a header that is there says so.
function(cleave_says result file regex)
  set(_lines "")
  if(EXISTS ${file})
    file(STRINGS ${file} _lines REGEX "${regex}")
  endif()
  set(${result} "${_lines}" PARENT_SCOPE)
endfunction()
