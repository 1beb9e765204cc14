# The interpreter that the modules are built for, and pybind11 from its packages.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter OPTIONAL_COMPONENTS Development.Module)
if(LATPRED_PYTHON)
  if(NOT Python_Development.Module_FOUND)
    message(FATAL_ERROR "Python's headers are missing: install python3-dev")
  endif()
  execute_process(COMMAND ${Python_EXECUTABLE} -m pybind11 --cmakedir OUTPUT_VARIABLE latpred_pybind11_dir
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  find_package(pybind11 3.0 CONFIG REQUIRED HINTS ${latpred_pybind11_dir})
  # pip builds in an environment at another place each time: headers that stay where they are need no new compilation.
  file(GLOB_RECURSE latpred_headers RELATIVE ${pybind11_INCLUDE_DIR} ${pybind11_INCLUDE_DIR}/pybind11/*.h)
  foreach(header ${latpred_headers})
    cmake_path(GET header PARENT_PATH folder)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include/${folder})
    file(COPY_FILE ${pybind11_INCLUDE_DIR}/${header} ${PROJECT_BINARY_DIR}/include/${header} ONLY_IF_DIFFERENT)
  endforeach()
  set_target_properties(pybind11::pybind11_headers PROPERTIES
                        INTERFACE_INCLUDE_DIRECTORIES ${PROJECT_BINARY_DIR}/include
                        INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${PROJECT_BINARY_DIR}/include)
endif()

# Equal functions, of which templates make many, become one: a linker that is there on most systems can do that, where
# it finds the compiler's libraries.
include(CheckLinkerFlag)
set(latpred_gold -fuse-ld=gold -Wl,--icf=safe)
check_linker_flag(CXX "${latpred_gold}" LATPRED_HAS_GOLD)

# latpred_module(_core SOURCES module.cpp error.cpp LIBRARIES latpred_predict)
#
# An extension module of the package latpred that exports its entry point and nothing else.
function(latpred_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  # NO_EXTRAS: no link-time optimisation, which doubles the build's time, and stripping is left to the installation.
  pybind11_add_module(${name} NO_EXTRAS ${arg_SOURCES})
  target_precompile_headers(${name} PRIVATE <pybind11/pybind11.h> <pybind11/stl.h> <pybind11/typing.h>)
  target_link_libraries(${name} PRIVATE latpred_options ${arg_LIBRARIES})
  target_link_options(${name} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/module_symbols.map)
  if(LATPRED_HAS_GOLD)
    target_link_options(${name} PRIVATE "$<$<CONFIG:Release>:${latpred_gold}>")
  endif()
  set_target_properties(${name} PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/module_symbols.map)
  install(TARGETS ${name} DESTINATION latpred)
endfunction()
