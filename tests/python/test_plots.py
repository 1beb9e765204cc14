import dataclasses

import latpred
import pytest
from example_networks import RESNET50, small_network, views
from latpred import host_device

matplotlib = pytest.importorskip("matplotlib")

from latpred import plots  # noqa: E402


@pytest.fixture
def prediction():
    return latpred.predict(RESNET50, batch=8)


def test_roofline_marks_every_kernel_that_computes(prediction, tmp_path):
    figure = prediction.plot()
    (axes,) = figure.axes
    marked = sum(len(collection.get_offsets()) for collection in axes.collections)
    assert marked == len([kernel for kernel in prediction.kernels if kernel.flops > 0])
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert "resnet50.onnx" in axes.get_title(loc="left")
    figure.savefig(tmp_path / "roofline.png")
    assert (tmp_path / "roofline.png").stat().st_size > 10_000


def test_no_mark_is_above_the_roof(prediction):
    (axes,) = plots.roofline(prediction).axes
    highest = max(max(line.get_ydata()) for line in axes.lines)
    rates = [y for collection in axes.collections for _, y in collection.get_offsets()]
    assert max(rates) <= highest


def test_a_roofline_of_a_network_is_that_of_its_prediction(prediction):
    expected = [c.get_offsets().tolist() for c in plots.roofline(prediction).axes[0].collections]
    for network in (RESNET50, str(RESNET50), latpred.load(RESNET50)):
        (axes,) = plots.roofline(network, batch=8, device="A100").axes
        assert [collection.get_offsets().tolist() for collection in axes.collections] == expected
    with pytest.raises(latpred.InvalidArgumentError, match="batch: a Prediction has been made already"):
        plots.roofline(prediction, batch=8)
    with pytest.raises(latpred.InvalidArgumentError, match="got int"):
        plots.roofline(3)


def test_a_network_without_kernels_has_an_empty_plot():
    (axes,) = latpred.predict(graph=views()).plot().axes
    assert not axes.collections


# A name that no table has, and that of a row with other rates.
@pytest.mark.parametrize("processor", ["somebody's", "Xeon Gold 6240"])
def test_roofs_of_this_machine_are_those_that_were_measured(processor, name_host, known_host, monkeypatch):
    name_host(processor)
    everywhere = tuple((size, 40e9, 50e9) for size, _, _ in known_host.reads)
    monkeypatch.setattr(host_device, "speed", lambda folder: dataclasses.replace(known_host, reads=everywhere))
    for partition, peak, bandwidth in ((None, 512e9, 50e9), ("1cores", 256e9, 40e9)):
        found = latpred.predict(RESNET50, device="cpu", partition=partition)
        (axes,) = found.plot().axes
        slope, *levels = axes.lines
        xs, ys = slope.get_data()
        assert ys[0] / xs[0] == pytest.approx(bandwidth)
        assert levels
        assert [y for level in levels for y in level.get_ydata()] == pytest.approx([peak] * 2 * len(levels))
        assert max(y for collection in axes.collections for _, y in collection.get_offsets()) <= peak
        assert processor in axes.get_title(loc="left")


def test_the_bandwidth_of_this_machine_is_that_of_the_bytes_of_a_call(name_host):
    name_host("somebody's")
    net = latpred.GraphBuilder()
    x = net.input("x", (2,))
    net.output(net.apply("gemm", [x, net.parameter((2, 2))], transB=1))
    (axes,) = latpred.predict(graph=net.build(1), device="cpu").plot().axes
    xs, ys = axes.lines[0].get_data()
    assert ys[0] / xs[0] == pytest.approx(800e9), "32 bytes: what both cores read from the smallest cache"


def test_batch_latency_shows_every_batch_and_device(tmp_path):
    figure = plots.batch_latency(small_network(), [4, 1, 2], ["A100", "T4"])
    (axes,) = figure.axes
    assert len(axes.lines) == 2
    for line, device in zip(axes.lines, ["A100", "T4"], strict=True):
        assert list(line.get_xdata()) == [1, 2, 4]
        expected = [latpred.predict(graph=small_network(batch), device=device).latency_ms for batch in (1, 2, 4)]
        assert list(line.get_ydata()) == pytest.approx(expected)
    figure.savefig(tmp_path / "batches.png")


def test_plots_draw_into_given_axes(prediction):
    from matplotlib.figure import Figure

    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert plots.roofline(prediction, ax=left) is figure
    assert plots.batch_latency(str(RESNET50), [1, 2], ax=right) is figure


def test_pyplot_is_left_alone(prediction):
    import sys

    prediction.plot()
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def test_without_matplotlib_the_extra_is_named(prediction, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(latpred.MissingDependencyError, match=r'pip install "latpred\[plot\]"'):
        prediction.plot()
