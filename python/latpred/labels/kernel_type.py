"""What kind a kernel is: the runtime's layer and algorithm, without what depends on the processor or the numbers."""

from __future__ import annotations

import re

# Sets of instructions and types of numbers in the names of implementations: OpenVINO's, then TensorRT's.
_OF_THE_PROCESSOR = re.compile(r"amx|any|avx|avx2|avx512|core|sse41|sse42|vnni|sm\d+")
_PRECISION = re.compile(r"((bf|fp|tf|[fius])\d{1,2})+", re.IGNORECASE)
_TILES = re.compile(r"_tilesize\d.*")


def kernel_type(kind: str, implementation: str) -> str:
    """Such as "Convolution:brgconv_1x1" from "Convolution" and "brgconv_avx512_1x1_f32"; the kind alone where the
    runtime says no more."""
    words = [
        word
        for word in _TILES.sub("", implementation).split("_")
        if word and not _OF_THE_PROCESSOR.fullmatch(word.lower()) and not _PRECISION.fullmatch(word)
    ]
    return f"{kind}:{'_'.join(words)}" if words else kind
