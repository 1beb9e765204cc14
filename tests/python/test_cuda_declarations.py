"""The hand-written declarations of NVIDIA's functions against NVIDIA's headers, where a machine has them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "cpp" / "src"

# A member of Driver or Library: its arguments, its name, the symbol and, last, an older symbol.
MEMBER = re.compile(
    r'LibraryFunction<[^;]*?>\s+(\w+)\{\s*\*this,\s*"(\w+)"(?:,\s*[^,}"]+|,\s*"[^"]*")?(?:,\s*"(\w+)")?\}'
)

CHECK = """
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <{nvidia}>
#include "{ours}"

template <typename A, typename B>
constexpr bool same_argument() {{
  return sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;
}}
template <typename Ours>
struct Same;
template <typename... Ours>
struct Same<latpred::LibraryFunction<Ours...>> {{
  template <typename Result, typename... Theirs>
  static constexpr bool as(Result (*)(Theirs...)) {{
    if constexpr (sizeof...(Ours) != sizeof...(Theirs)) {{
      return false;
    }} else {{
      return sizeof(Result) == sizeof(int) && (same_argument<Ours, Theirs>() && ...);
    }}
  }}
}};
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
constexpr bool one_of(std::string_view text, std::string_view newer, std::string_view older) {{
  return text == newer || text == older;
}}
{lines}
"""

DRIVER_LINES = """
namespace ours = latpred::cuda;
static_assert(sizeof(ours::DeviceResource) == sizeof(CUdevResource));
static_assert(offsetof(ours::DeviceResource, sms) == offsetof(CUdevResource, sm));
static_assert(offsetof(ours::SmResource, min_partition_size) == offsetof(CUdevSmResource, minSmPartitionSize));
static_assert(offsetof(ours::SmResource, coscheduled_alignment) == offsetof(CUdevSmResource, smCoscheduledAlignment));
static_assert(sizeof(ours::Uuid) == sizeof(CUuuid));
static_assert(ours::kInvalidValue == CUDA_ERROR_INVALID_VALUE && ours::kNoDevice == CUDA_ERROR_NO_DEVICE);
static_assert(ours::kClockRate == CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
static_assert(ours::kMultiprocessorCount == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(ours::kMemoryClockRate == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
static_assert(ours::kMemoryBusWidth == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
static_assert(ours::kL2CacheSize == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
static_assert(ours::kComputeCapabilityMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(ours::kComputeCapabilityMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(ours::kStreamNonBlocking == CU_STREAM_NON_BLOCKING && ours::kEventDefault == CU_EVENT_DEFAULT);
static_assert(ours::kCaptureThreadLocal == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
static_assert(ours::kSmResource == CU_DEV_RESOURCE_TYPE_SM);
static_assert(ours::kGreenContextDefaultStream == CU_GREEN_CTX_DEFAULT_STREAM);
"""

NVML_LINES = """
namespace ours = latpred::nvml;
static_assert(sizeof(ours::MemoryInfo) == sizeof(nvmlMemory_v2_t) && ours::kMemoryInfoVersion == nvmlMemory_v2);
static_assert(offsetof(ours::MemoryInfo, reserved) == offsetof(nvmlMemory_v2_t, reserved));
static_assert(offsetof(ours::MemoryInfo, used) == offsetof(nvmlMemory_v2_t, used));
static_assert(sizeof(ours::ProcessInfo) == sizeof(nvmlProcessInfo_t));
static_assert(offsetof(ours::ProcessInfo, used_bytes) == offsetof(nvmlProcessInfo_t, usedGpuMemory));
static_assert(NVML_CLOCK_SM == 1 && NVML_CLOCK_MEM == 2 && NVML_TEMPERATURE_GPU == 0);
static_assert(NVML_SUCCESS == 0 && NVML_ERROR_INSUFFICIENT_SIZE == 7);
static_assert(nvmlClocksEventReasonSwPowerCap == 0x4 && nvmlClocksThrottleReasonHwSlowdown == 0x8);
static_assert(nvmlClocksThrottleReasonHwThermalSlowdown == 0x40 && nvmlClocksEventReasonReliability == 0x400);
"""


def folder_of(header: str) -> Path | None:
    """Where NVIDIA's header is: a toolkit, or a package of headers."""
    packages = Path(sysconfig.get_path("platlib")) / "nvidia"
    places = [Path("/usr/local/cuda/include"), Path("/usr/include"), *packages.glob("*/include")]
    return next((place for place in places if (place / header).is_file()), None)


def members(header: Path) -> list[tuple[str, str, str]]:
    """Name, symbol and older symbol of every function that a header of ours declares."""
    text = header.read_text()
    found = [(name, symbol, older) for name, symbol, older in MEMBER.findall(text)]
    assert len(found) == text.count("LibraryFunction<"), "a declaration that this test does not read"
    return found


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
@pytest.mark.parametrize(
    ("nvidia", "ours", "namespace", "lines"),
    [
        ("cuda.h", "profiler/cuda/driver.h", "latpred::cuda::Driver", DRIVER_LINES),
        ("nvml.h", "profiler/nvml/nvml.h", "latpred::nvml::Library", NVML_LINES),
    ],
)
def test_declarations_are_nvidias(nvidia: str, ours: str, namespace: str, lines: str, tmp_path: Path) -> None:
    """The same arguments in size and kind, and the symbol that the header's macros make of the name."""
    folder = folder_of(nvidia)
    if folder is None:
        pytest.skip(f"this machine has no {nvidia}")
    if nvidia == "cuda.h":
        version = re.search(r"define CUDA_VERSION (\d+)", (folder / nvidia).read_text())
        if version is None or int(version.group(1)) < 12050:
            pytest.skip("cuda.h is older than the functions: CUDA 12.5 or newer")
    checks = [lines]
    for name, symbol, older in members(SOURCES / ours):
        checks.append(f"static_assert(Same<decltype({namespace}::{name})>::as(decltype(&{name})()));")
        checks.append(f'static_assert(one_of(TEXT({name}), "{symbol}", "{older or symbol}"));')
    source = tmp_path / "declarations.cpp"
    source.write_text(CHECK.format(nvidia=nvidia, ours=ours, lines="\n".join(checks)))
    folders = [f"-I{ROOT / 'cpp' / 'include'}", f"-I{SOURCES}", f"-isystem{folder}"]
    command = ["c++", "-std=c++20", "-fsyntax-only", "-w", *folders, str(source)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr[:4000]
