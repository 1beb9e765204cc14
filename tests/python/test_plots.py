import latpred
import pytest
from example_networks import RESNET50, small_network

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


def test_a_network_without_kernels_has_an_empty_plot():
    net = latpred.GraphBuilder()
    net.output(net.apply("flatten", net.input("x", (4, 4)), axis=1))
    (axes,) = latpred.predict(graph=net.build()).plot().axes
    assert not axes.collections


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
