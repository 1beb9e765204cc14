# How everything is compiled: the language, and latpred_options, which every target links.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Only the module's entry point leaves an extension module (python/bindings).
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_package(Threads REQUIRED)
add_library(latpred_options INTERFACE)
# A struct whose members have defaults may be written with its first members only.
target_compile_options(latpred_options INTERFACE -Wall -Wextra -Wpedantic -Wno-missing-field-initializers
                                                 $<$<BOOL:${LATPRED_WERROR}>:-Werror>)
# gcc 12 sees overlapping copies inside std::string's operator+ where there are none (GCC bug 105651, mended in 13).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(latpred_options INTERFACE -Wno-restrict)
endif()
# Of sources that are compiled together gcc takes all for headers, where a type that no other file sees would be wrong.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(latpred_options INTERFACE -Wno-subobject-linkage)
endif()
target_link_libraries(latpred_options INTERFACE Threads::Threads)
# What nothing calls stays out of the modules.
target_compile_options(latpred_options INTERFACE $<$<CONFIG:Release>:-ffunction-sections -fdata-sections>)
target_link_options(latpred_options INTERFACE $<$<CONFIG:Release>:-Wl,--gc-sections>)

if(LATPRED_FUZZ AND NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
  message(FATAL_ERROR "LATPRED_FUZZ needs clang, found ${CMAKE_CXX_COMPILER_ID}: cmake --preset asan")
endif()
if(LATPRED_SANITIZE)
  target_compile_options(latpred_options INTERFACE -fsanitize=${LATPRED_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  target_link_options(latpred_options INTERFACE -fsanitize=${LATPRED_SANITIZE})
  target_compile_definitions(latpred_options INTERFACE LATPRED_SANITIZED)
endif()
