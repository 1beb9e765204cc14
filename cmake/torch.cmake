# latpred_libtorch: headers and libraries of the torch package that is installed for this Python.
#
# Not torch's own CMake package: for a torch with CUDA that one wants a CUDA toolkit, which the libraries do not need.
# Not libtorch_python: numbers cross to Python, tensors do not, so that the module loads without `import torch`.
execute_process(COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/find_torch.py
                OUTPUT_VARIABLE latpred_torch_dir OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "No torch for ${Python_EXECUTABLE}: install torch==2.13.0, or leave the LibTorch part out with "
                      "-DLATPRED_TORCH=OFF")
endif()
file(STRINGS ${latpred_torch_dir}/version.py LATPRED_TORCH_VERSION REGEX "^__version__ = ")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" LATPRED_TORCH_VERSION "${LATPRED_TORCH_VERSION}")
# From 2.7 on every wheel uses the C++11 ABI of libstdc++, as we do.
if(LATPRED_TORCH_VERSION VERSION_LESS 2.7)
  message(FATAL_ERROR "torch ${LATPRED_TORCH_VERSION} in ${latpred_torch_dir} is too old: 2.7 or newer is needed")
endif()
message(STATUS "LibTorch ${LATPRED_TORCH_VERSION}: ${latpred_torch_dir}")

add_library(latpred_libtorch INTERFACE)
# SYSTEM: warnings of torch's headers are not ours to mend.
target_include_directories(latpred_libtorch SYSTEM INTERFACE
  ${latpred_torch_dir}/include ${latpred_torch_dir}/include/torch/csrc/api/include)
# libtorch itself holds nothing on a CPU build; on a CUDA build it is what loads the CUDA kernels.
target_link_libraries(latpred_libtorch INTERFACE
  -Wl,--no-as-needed ${latpred_torch_dir}/lib/libtorch.so ${latpred_torch_dir}/lib/libtorch_cpu.so
  ${latpred_torch_dir}/lib/libc10.so)
