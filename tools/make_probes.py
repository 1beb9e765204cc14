"""Records the networks that latpred calibrate --probe chooses from, so that choosing needs no timm.

python tools/make_probes.py   writes python/latpred/data/probes.sqlite; needs latpred[architectures]
"""

from pathlib import Path

from latpred.calibration.probes import NETWORKS
from latpred.datasets.graph_cache import build_cache

PATH = Path(__file__).resolve().parents[1] / "python" / "latpred" / "data" / "probes.sqlite"


def main() -> None:
    PATH.unlink(missing_ok=True)
    for done, count, recipe in build_cache(PATH, NETWORKS, workers=1):
        print(f"{done} of {count}: {recipe}")


if __name__ == "__main__":
    main()
