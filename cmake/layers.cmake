# latpred_layer(readers DEPENDS shapes SOURCES wire.cpp onnx.cpp TESTS wire onnx)
#
# One library for each folder under cpp/src: it sees the public headers, its own folder, and links the layers to its
# left only. SMALL: compiled for size, which is fast enough there and keeps the wheel small. TESTS are stems of
# tests/cpp/<stem>_test.cpp; they make one program, test_<layer>. LIBRARIES are not ours. HEADERS are compiled once.
function(latpred_layer name)
  cmake_parse_arguments(arg "SMALL" "" "DEPENDS;SOURCES;TESTS;LIBRARIES;HEADERS" ${ARGN})
  add_library(latpred_${name} STATIC ${arg_SOURCES})
  target_include_directories(latpred_${name} PUBLIC ${PROJECT_SOURCE_DIR}/cpp/include ${PROJECT_SOURCE_DIR}/cpp/src)
  list(TRANSFORM arg_DEPENDS PREPEND latpred_)
  target_link_libraries(latpred_${name} PUBLIC latpred_options ${arg_DEPENDS} ${arg_LIBRARIES})
  if(arg_SMALL)
    target_compile_options(latpred_${name} PRIVATE $<$<CONFIG:Release>:-Os>)
  endif()
  if(arg_HEADERS)
    latpred_compile_once(latpred_${name} ${arg_HEADERS})
  elseif(LATPRED_SANITIZE)
    # A fifth of the time of builds that hardly optimise. The others show which file lacks an include of its own.
    latpred_compile_once(latpred_${name} <algorithm> <array> <cmath> <functional> <map> <memory> <numeric> <optional>
                         <span> <string> <string_view> <unordered_map> <vector>)
  endif()
  if(LATPRED_TESTS AND arg_TESTS)
    list(TRANSFORM arg_TESTS PREPEND ${PROJECT_SOURCE_DIR}/tests/cpp/)
    list(TRANSFORM arg_TESTS APPEND _test.cpp)
    add_executable(test_${name} ${arg_TESTS})
    target_link_libraries(test_${name} PRIVATE latpred_${name} GTest::gtest_main)
    target_compile_definitions(test_${name} PRIVATE LATPRED_GOLDEN_DIR="${PROJECT_SOURCE_DIR}/tests/golden")
    # Only what is tested has to be built as it ships, and looked at for undefined behaviour: tests take half of the time
    # to compile so, and three fifths of it under sanitizers.
    if(LATPRED_SANITIZE)
      target_compile_options(test_${name} PRIVATE -O0)
      set_source_files_properties(${arg_TESTS} PROPERTIES COMPILE_OPTIONS -fno-sanitize=undefined)
    else()
      target_compile_options(test_${name} PRIVATE -Og)
    endif()
    # Each test names its helpers for itself; only torch's headers cost more than that.
    if(NOT arg_HEADERS)
      set_target_properties(test_${name} PROPERTIES UNITY_BUILD OFF)
    endif()
    latpred_compile_once(test_${name} <gtest/gtest.h>)
    # While building, not while testing: pip's temporary CMake, which would be asked then, is gone by then.
    gtest_discover_tests(test_${name} DISCOVERY_MODE POST_BUILD DISCOVERY_TIMEOUT 60)
  endif()
endfunction()

# latpred_compile_once(latpred_batch <torch/nn/module.h>)
#
# For the first target that asks for these headers; the next ones, of the same options, take what was made for it.
function(latpred_compile_once target)
  string(MAKE_C_IDENTIFIER "latpred_first_with_${ARGN}" key)
  get_property(first GLOBAL PROPERTY ${key})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    set_property(GLOBAL PROPERTY ${key} ${target})
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()
