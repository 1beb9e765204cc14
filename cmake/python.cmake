# The interpreter that the modules are built for, and pybind11 from its packages.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter OPTIONAL_COMPONENTS Development.Module)
if(LATPRED_PYTHON)
  if(NOT Python_Development.Module_FOUND)
    message(FATAL_ERROR "Python's headers are missing: install python3-dev")
  endif()
  execute_process(COMMAND ${Python_EXECUTABLE} -m pybind11 --cmakedir OUTPUT_VARIABLE latpred_pybind11_dir
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  find_package(pybind11 3.0 CONFIG REQUIRED HINTS ${latpred_pybind11_dir})
endif()

find_program(LATPRED_GOLD ld.gold)

# latpred_module(_core SOURCES module.cpp error.cpp LIBRARIES latpred_predict)
#
# An extension module of the package latpred that exports its entry point and nothing else.
function(latpred_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  # NO_EXTRAS: no link-time optimisation, which doubles the build's time, and stripping is left to the installation.
  pybind11_add_module(${name} NO_EXTRAS ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE latpred_options ${arg_LIBRARIES})
  target_link_options(${name} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/module_symbols.map)
  # Equal functions, of which templates make many, become one: a linker that is there on most systems can do that.
  if(LATPRED_GOLD)
    target_link_options(${name} PRIVATE "$<$<CONFIG:Release>:-fuse-ld=gold;-Wl,--icf=safe>")
  endif()
  set_target_properties(${name} PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/module_symbols.map)
  install(TARGETS ${name} DESTINATION latpred)
endfunction()
