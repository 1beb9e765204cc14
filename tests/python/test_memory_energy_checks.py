"""The checks of memory and energy: their rules by hand, and that the pages show what they found."""

from __future__ import annotations

import gzip
import importlib.util
import itertools
import json
import math
import sys
from types import ModuleType

import pytest
from example_networks import REPOSITORY
from latpred import _core

pd = pytest.importorskip("pandas")
pytest.importorskip("scipy")

FOLDER = REPOSITORY / "benchmarks" / "accuracy"
GIB = 2.0**30


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"accuracy_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


memory = load("memory")
energy = load("energy")
docs_table = sys.modules["docs_table"]


@pytest.mark.parametrize(
    ("batch", "above"), [(1, 2), (2, 3), (3, 4), (4, 6), (6, 8), (96, 128), (128, 192), (1024, 1536)]
)
def test_the_step_above_is_what_timm_tried_before(batch, above):
    assert memory.step_above(batch) == above


def timms_steps(batch):
    """Batches that are tried after `batch` failed: powers of two, and half as much again between them."""
    while batch > 1:
        floor = 2 ** int(math.log2(batch - 1))
        step = max(floor // 2, 1)
        batch = floor + (batch - floor - 1) // step * step
        yield batch


def test_step_above_goes_back_the_way_that_timm_goes_down():
    steps = [2048, *timms_steps(2048)]
    assert steps[:5] == [2048, 1536, 1024, 768, 512]
    for above, below in itertools.pairwise(steps):
        assert memory.step_above(below) == above


def row(recipe, batch, device="RTX 3090", family="anb", **other):
    values = {"input": "", "runtime": "eager", "runtime_version": "1", "precision": "amp", "value": 1.0}
    values |= {"source": "s", "licence": "l", "protocol": "p"}
    return memory.Row(recipe=recipe, family=family, batch=batch, device=device, **(values | other))


class Cache(dict):
    """Graphs of a linear layer whose width the recipe says."""

    def graph(self, recipe, batch):
        net = _core.GraphBuilder()
        x = net.input("x", (int(recipe),))
        net.output(net.apply("relu", [x]))
        return net.build(batch)


def test_trials_are_what_ran_and_the_step_above_it_where_the_table_stopped_short(monkeypatch):
    monkeypatch.setattr(memory, "part_of_family", lambda: {"anb": "0"})
    rows = [row("8", 1024), row("16", 384), row("24", 1024, device="Core i9-10940X"), row("99", 1024)]
    found = list(memory.trials(rows, Cache({"8": 1, "16": 1, "24": 1})))
    assert [(trial.ran, trial.is_largest) for trial in found] == [(True, True), (False, True), (True, False)]
    assert {trial.capacity_bytes for trial in found} == {24 * GIB}
    assert found[1].estimate.total_bytes >= found[0].estimate.total_bytes


def test_another_limit_is_a_tensor_that_32_bits_do_not_index():
    cache = Cache()
    assert memory.find_other_limit(cache.graph("1024", 2**21 - 1)) == ""
    assert memory.find_other_limit(cache.graph("1024", 2**21)) == memory.INDEX


def test_another_limit_is_a_grid_of_attention():
    def attention(batch):
        net = _core.GraphBuilder()
        parts = [net.input(name, (2, 4, 8)) for name in "qkv"]
        net.output(net.apply("scaled_dot_product_attention", parts))
        return net.build(batch)

    assert memory.find_other_limit(attention(65_535)) == ""
    assert memory.find_other_limit(attention(65_536)) == memory.GRID


def trial(ran, total, other_limit="", is_largest=True):
    estimate = memory.Estimate(total, 0.5 * total, 2 * total, 0.0)
    return memory.Trial("RTX 3090, eager amp, nchw, 1", "0", ran, is_largest, 100.0, estimate, other_limit)


def test_both_sides_are_counted():
    listed = [
        trial(True, 90), trial(True, 110), trial(True, 210), trial(True, 10, is_largest=False),
        trial(False, 40, memory.INDEX), trial(False, 90), trial(False, 110), trial(False, 20, memory.GRID),
    ]  # fmt: skip
    found = memory.count(listed)
    assert [found[name] for name in ("ran", "largest", "failed", "alone", "failed_at_grid")] == [4, 3, 3, 2, 1]
    assert found["ran_said_too_large"] == pytest.approx(2 / 4)
    assert found["ran_interval_too_large"] == pytest.approx(1 / 4)
    assert found["largest_said_too_large"] == pytest.approx(2 / 3)
    assert found["failed_said_fits"] == pytest.approx(2 / 3)
    assert found["failed_interval_fits"] == pytest.approx(1 / 3)
    assert found["alone_said_fits"] == pytest.approx(1 / 2)
    assert found["alone_interval_fits"] == 0


def test_of_nothing_there_is_no_share():
    assert memory.share([]) is None
    assert memory.percent(memory.share([])) == "-"


def diffusion_line(precision, attention, measured, predicted, lower, upper):
    line = {"precision": precision, "recipe": f"sd:pipeline?attention={attention}", "measured_bytes": measured}
    return line | {"predicted_bytes": predicted, "lower_bytes": lower, "upper_bytes": upper}


def test_errors_of_diffusion_are_told_by_kind():
    lines = [
        diffusion_line(precision, attention, scale * 100, scale * predicted, scale * lower, scale * upper)
        for attention in ("fused", "products")
        for precision, predicted, lower, upper in (("fp16", 90, 80, 125), ("tf32", 120, 110, 440))
        for scale in (1, 2, 3)
    ]
    found = {each["kind"]: each for each in memory.summarise_diffusion(lines)}
    assert found["fp16, attention fused"]["mape_percent"] == pytest.approx(10)
    assert found["fp16, attention fused"]["covered"] == 1
    assert found["fp16, attention fused"]["median_interval_factor"] == pytest.approx(1.25)
    assert found["float32, attention products"]["bias"] == pytest.approx(1.2)
    assert found["float32, attention products"]["covered"] == 0
    assert found["all"]["rows"] == 12


def test_kernels_shrink_to_the_measured_time_and_never_grow():
    assert energy.shares_of([1.0, 3.0], 2.0) == [0.5, 1.5]
    assert energy.shares_of([1.0, 3.0], 8.0) == [1.0, 3.0]
    assert energy.shares_of([0.0], 1.0) == [0.0]


def product_graph():
    net = _core.GraphBuilder()
    x = net.input("x", (4096,), "float16")
    net.output(net.apply("linear", [x, net.parameter((4096, 4096), "float16")]))
    return net.build(4096)


def test_a_call_that_waits_draws_less_and_its_peak_does_not():
    graph = product_graph()
    busy = energy.check("k", graph, "A100", 6e-4, 300.0)
    waiting = energy.check("k", graph, "A100", 6e-2, 300.0)
    peak = energy.check("k", graph, "A100", 6e-2, 300.0, is_peak=True)
    assert waiting.predicted_w < 0.4 * busy.predicted_w
    assert peak.predicted_w > 0.9 * busy.predicted_w
    assert waiting.measured_j == pytest.approx(18.0)
    assert busy.answer_j == waiting.answer_j  # at our own time


def test_energy_of_a_call_is_power_times_time_within_the_boards_limits():
    kernels = _core.fuse(product_graph(), "kernel", "fp16")
    found = _core.estimate_energy(kernels, [5e-4], 1e-3, "H200")
    board = _core.device("H200")
    assert found.energy_j == pytest.approx(found.mean_power_w * 1e-3)
    assert found.lower_j == pytest.approx(board.idle_power_w.value * 1e-3)
    assert found.upper_j == pytest.approx(board.power_limit_w * 1e-3)
    assert found.provenance == "fitted"
    assert _core.estimate_energy(kernels, [5e-4], 1e-3, "i9-10940X") is None


def test_less_memory_is_squeezed_and_too_little_is_not_said_to_do():
    graph = Cache().graph(str(2**20), 64)
    kernels = _core.fuse(graph, "eager", "fp32")
    free = _core.estimate_memory(graph, kernels, "A100")
    enough = _core.estimate_memory(graph, kernels, "A100", capacity_bytes=2 * free.total_bytes)
    little = _core.estimate_memory(graph, kernels, "A100", capacity_bytes=0.1 * free.total_bytes)
    assert enough.total_bytes == little.total_bytes == free.total_bytes


def test_coverage_is_the_share_inside():
    import numpy as np

    found = energy.covered(np.array([0.1, -0.3, 0.2]), np.array([0.2, 0.2, 0.2]))
    assert found["covered"] == pytest.approx(2 / 3)
    assert found["interval_factor"] == pytest.approx(math.exp(0.2))


def test_scatter_of_the_same_work_is_over_its_mean():
    rows = pd.DataFrame(
        {"kind": ["gemm"] * 5, "flops": [1.0, 1.0, 2.0, 2.0, 3.0], "bytes": 1.0, "power_w": [90, 110, 100, 100, 7.0]}
    )
    # The deviation of 90 and 110 is 14.1; of the second pair 0; one alone says nothing.
    assert energy.same_work_scatter(rows) == {"gemm": pytest.approx(0.1414 / 2, abs=1e-4)}


def test_training_is_only_put_beside_the_range(tmp_path):
    folder = tmp_path / energy.MISO_FOLDER
    folder.mkdir(parents=True)
    (folder / "power_a.json.gz").write_bytes(gzip.compress(b'{"8": 100.0, "16": 20.0}'))
    (folder / "power_b.json.gz").write_bytes(gzip.compress(b'{"8": 300.0, "16": 399.0}'))
    found = energy.training_range(tmp_path)
    assert (found["readings"], found["least_w"], found["most_w"], found["between"]) == (4, 20.0, 399.0, 0.75)


def test_a_table_is_replaced_between_its_comments(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x.py -->\nold\n<!-- end -->\nb\n<!-- y.py -->\nold\n<!-- end -->\n")
    docs_table.replace(page, "y.py", "new\n")
    assert docs_table.shown(page.read_text(), "x.py") == "old\n"
    assert docs_table.shown(page.read_text(), "y.py") == "new\n"
    with pytest.raises(ValueError, match="no table between"):
        docs_table.shown(page.read_text(), "z.py")


@pytest.mark.parametrize("name", ["memory", "energy"])
def test_the_page_shows_what_the_file_holds(name):
    module = {"memory": memory, "energy": energy}[name]
    result = json.loads((FOLDER / f"{name}.json").read_text())
    page = (REPOSITORY / "docs" / f"{name}.md").read_text()
    assert docs_table.shown(page, module.MARK) == module.markdown(result)
