"""python benchmarks/gpu_campaign PART...|all|table|list --out FOLDER [--minutes 9] [--device cpu --smoke]."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import sys
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

from latpred.errors import LatpredError, ProfilerError  # noqa: E402

from gpu_campaign.journal import Journal, table_of  # noqa: E402
from gpu_campaign.settings import PARTS, Part, Setting  # noqa: E402

_SMOKE_RECIPES = ("fnn:16-32-1", "fnn:8-8-8")


def _small_enough(settings: list[Setting]) -> list[Setting]:
    """The same situations with nets that any machine runs at once."""
    return [
        dataclasses.replace(setting, recipe=recipe, batch=i + 1, beside=tuple(("fnn:8-4-2", 1) for _ in setting.beside))
        for i, (setting, recipe) in enumerate(zip(settings, _SMOKE_RECIPES, strict=False))
    ]


def run_part(part: Part, folder: Path, minutes: float, device: str, is_smoke: bool) -> int:
    """Measures what is not measured yet until the time is up; returns how many settings it added."""
    from gpu_campaign.measuring import Bench
    from gpu_campaign.neighbours import measure_together

    end_s = time.monotonic() + 60 * minutes
    journal = Journal(folder / f"{part.name}.jsonl")
    bench = Bench(device, is_smoke)
    settings = part.settings()
    if is_smoke:
        settings = _small_enough(list(itertools.islice(settings, len(_SMOKE_RECIPES))))
    added = 0
    for setting in settings:
        if time.monotonic() > end_s:
            break
        if setting.key in journal.keys:
            continue
        result = measure_together(bench, setting) if setting.beside else bench.measure(part, setting)
        journal.add(result)
        added += 1
        shown = result.error or f"{1e3 * result.rows[0].value:.3f} ms"
        if result.error and not bench.is_alive():
            raise ProfilerError(f"{setting.key} broke the GPU's context ({result.error}); run the same command again")
        print(f"{part.name} {len(journal.keys)}: {setting.key}: {shown}", flush=True)
    return added


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    by_name = {part.name: part for part in PARTS}
    parser = argparse.ArgumentParser(prog="gpu_campaign", description=__doc__)
    parser.add_argument("parts", nargs="+", choices=[*by_name, "all", "table", "list"], metavar="PART")
    parser.add_argument("--out", type=Path, default=Path("gpu_campaign_results"), help="folder of the results")
    parser.add_argument("--minutes", type=float, default=9, help="of each part (default 9)")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--smoke", action="store_true", help="two tiny settings of each part, to see that it runs")
    options = parser.parse_args(arguments)
    if "list" in options.parts:
        for part in PARTS:
            print(f"{part.name:10} {part.description}")
        return 0
    if "table" in options.parts:
        path = options.out / "gpu_campaign.parquet"
        table = table_of(options.out, by_name)
        table.to_parquet(path)
        print(f"{len(table)} rows in {path}")
        return 0
    for part in PARTS if "all" in options.parts else [by_name[name] for name in options.parts]:
        try:
            added = run_part(part, options.out, options.minutes, options.device, options.smoke)
        except LatpredError as error:
            print(f"gpu_campaign: {error}", file=sys.stderr)
            return 1
        print(f"{part.name}: {added} settings added")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
