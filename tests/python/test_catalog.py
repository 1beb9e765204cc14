import latpred
import pytest
from example_networks import small_network
from latpred import InvalidArgumentError


def test_tables_list_what_the_arguments_take():
    graph = small_network()
    for device in latpred.devices():
        if device.is_gpu:
            assert latpred.predict(graph=graph, device=device.name).device == device.name
    assert latpred.predict(graph=graph, predictor=latpred.predictors()[0].name).latency_ms > 0
    for runtime in latpred.runtimes():
        if runtime.on_gpu:
            for precision in ["default", *runtime.precisions]:
                latpred.predict(graph=graph, runtime=runtime.name, precision=precision, device="H100")
    assert {"default", "fp32", "fp16"} <= {row.name for row in latpred.precisions()}
    assert latpred.operators()["conv"].family == "convolution"
    assert latpred.devices()["A100"].name == "A100-SXM4-40GB"
    assert "onnx" in latpred.frameworks()


def test_tables_show_and_convert():
    devices = latpred.devices()
    assert "A100-SXM4-40GB" in repr(devices[:14])
    assert "<table>" in devices._repr_html_()
    assert devices.to_dicts()[0]["name"] == devices[0].name
    with pytest.raises(InvalidArgumentError, match="did you mean 'conv'"):
        latpred.operators()["conw"]
