# latpred_layer(readers DEPENDS shapes SOURCES wire.cpp onnx.cpp TESTS wire onnx)
#
# One library for each folder under cpp/src: it sees the public headers, its own folder, and links the layers to its
# left only. SMALL: compiled for size, which is fast enough there and keeps the wheel small. TESTS are stems of
# tests/cpp/<stem>_test.cpp; they make one program, test_<layer>. LIBRARIES are not ours. HEADERS are compiled once for
# all sources, or are those that the layer HEADERS_FROM has.
function(latpred_layer name)
  cmake_parse_arguments(arg "SMALL" "HEADERS_FROM" "DEPENDS;SOURCES;TESTS;LIBRARIES;HEADERS" ${ARGN})
  add_library(latpred_${name} STATIC ${arg_SOURCES})
  target_include_directories(latpred_${name} PUBLIC ${PROJECT_SOURCE_DIR}/cpp/include ${PROJECT_SOURCE_DIR}/cpp/src)
  list(TRANSFORM arg_DEPENDS PREPEND latpred_)
  target_link_libraries(latpred_${name} PUBLIC latpred_options ${arg_DEPENDS} ${arg_LIBRARIES})
  if(arg_SMALL)
    target_compile_options(latpred_${name} PRIVATE $<$<CONFIG:Release>:-Os>)
  endif()
  if(arg_HEADERS_FROM)
    target_precompile_headers(latpred_${name} REUSE_FROM latpred_${arg_HEADERS_FROM})
  elseif(arg_HEADERS)
    target_precompile_headers(latpred_${name} PRIVATE ${arg_HEADERS})
  elseif(LATPRED_SANITIZE AND name STREQUAL common)
    # A fifth of the time of builds that hardly optimise. The others show which file lacks an include of its own.
    target_precompile_headers(latpred_common PRIVATE <algorithm> <array> <cmath> <functional> <map> <memory> <numeric>
                              <optional> <span> <string> <string_view> <unordered_map> <vector>)
  elseif(LATPRED_SANITIZE)
    target_precompile_headers(latpred_${name} REUSE_FROM latpred_common)
  endif()
  if(LATPRED_TESTS AND arg_TESTS)
    list(TRANSFORM arg_TESTS PREPEND ${PROJECT_SOURCE_DIR}/tests/cpp/)
    list(TRANSFORM arg_TESTS APPEND _test.cpp)
    add_executable(test_${name} ${arg_TESTS})
    target_link_libraries(test_${name} PRIVATE latpred_${name} GTest::gtest_main)
    target_compile_definitions(test_${name} PRIVATE LATPRED_GOLDEN_DIR="${PROJECT_SOURCE_DIR}/tests/golden")
    target_compile_options(test_${name} PRIVATE -Og)  # half of the time to compile; what is tested stays as it is built
    if(name STREQUAL common)  # the first layer's tests compile GoogleTest's headers for those of all others
      target_precompile_headers(test_common PRIVATE <gtest/gtest.h>)
    else()
      target_precompile_headers(test_${name} REUSE_FROM test_common)
    endif()
    # While building, not while testing: pip's temporary CMake, which would be asked then, is gone by then.
    gtest_discover_tests(test_${name} DISCOVERY_MODE POST_BUILD DISCOVERY_TIMEOUT 60)
  endif()
endfunction()
