"""Where calibrations are written to, and what is never written over."""

import copy
import dataclasses
import pickle
import resource

import latpred
import pytest
from example_networks import RESNET50
from latpred import InvalidArgumentError
from latpred.calibration import load_calibration


@pytest.fixture
def kept(tmp_path, monkeypatch):
    folder = tmp_path / "kept"
    monkeypatch.setenv("LATPRED_CALIBRATIONS", str(folder))
    return folder


@pytest.fixture(scope="module")
def made():
    return latpred.calibrate([(RESNET50, 32, 0.01)], device="A100", precision="fp16")


@pytest.mark.parametrize(
    "change",
    [
        {"device": "H100-SXM5-80GB"},
        {"partition": "2g.10gb"},
        {"runtime": "compiled"},
        {"precision": "fp32"},
        {"precision": None},
        {"input_on": "pageable"},
    ],
)
def test_one_of_other_timings_is_not_replaced_by_its_name(made, kept, change):
    path = made.save()
    other = dataclasses.replace(made, **change)
    with pytest.raises(InvalidArgumentError, match=r"was made for .*; pass name= to calibrate\(\)") as caught:
        other.save()
    for one in (made, other):
        assert f"for {one.where()}, input on {one.input_on}" in str(caught.value)
    assert load_calibration(path) == made
    renamed = dataclasses.replace(other, name="other")
    assert load_calibration(renamed.save()) == renamed


def test_one_of_the_same_kind_is_replaced_by_its_name(made, kept):
    path = made.save()
    again = dataclasses.replace(made, scale=1.5)
    assert again.save() == path
    assert load_calibration(path) == again
    path.write_text("{")  # no call would take it
    assert load_calibration(again.save()) == again


def test_what_would_be_read_as_a_name_is_not_written_as_a_file(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgumentError, match=r"'mine' would be read as the name .*; write it to 'mine\.json'"):
        made.save("mine")
    assert not list(tmp_path.iterdir())
    for path in ("mine.json", "./mine", tmp_path / "other"):
        assert latpred.predict(
            RESNET50, batch=32, device="A100", precision="fp16", calibration=made.save(path)
        ).latency_s == pytest.approx(0.01)


def test_a_path_that_is_none_is_refused(made):
    with pytest.raises(InvalidArgumentError, match=r"path of a calibration must be that of a \.json file, got b'x"):
        made.save(b"x.json")


def test_a_file_that_cannot_be_finished_leaves_the_older_one(made, tmp_path):
    path = made.save(tmp_path / "mine.json")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(InvalidArgumentError, match=r"cannot be written to '.*': File too large"):
            dataclasses.replace(made, scale=1.5).save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert load_calibration(path) == made
    assert list(tmp_path.iterdir()) == [path]


def test_it_can_be_copied_after_its_use(made):
    latpred.predict(RESNET50, device="A100", precision="fp16", calibration=made)
    for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert again == made
        answer = latpred.predict(RESNET50, batch=32, device="A100", precision="fp16", calibration=again)
        assert answer.latency_s == pytest.approx(0.01)
