"""A table of errors, as evaluate() returns it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latpred.datasets.measured_nets import MeasuredNets
from latpred.datasets.nets import words_of
from latpred.errors import InvalidArgumentError
from latpred.tables import Column, Table, number, number_column, text_column
from latpred.training.net_errors import NetErrors, by_band, noise_floor
from latpred.training.trained import Trained
from latpred.units import MILLISECONDS_PER_S


def _percent(name: str, heading: str) -> Column[Any]:
    return number_column(name, heading, _percent_text)


def _percent_text(percent: float) -> str:
    return f"{percent:.1f} %"


def _milliseconds(name: str, heading: str) -> Column[Any]:
    return number_column(name, heading, _milliseconds_text)


def _milliseconds_text(seconds: float) -> str:
    return number(seconds * MILLISECONDS_PER_S)


ERROR_COLUMNS: Sequence[Column[NetErrors]] = (
    text_column("band", "weights"),
    number_column("nets", text=str),
    _milliseconds("mean_s", "mean ms"),
    _milliseconds("std_s", "std ms"),
    _milliseconds("mae_s", "MAE ms"),
    _percent("mae_percent_of_mean", "MAE / mean"),
    _percent("mape_percent", "MAPE"),
    _percent("median_percent", "median"),
    _percent("p90_percent", "90th percentile"),
)


class Evaluation(Table[NetErrors]):
    """Errors of all nets, then of each band of weight sizes; `noise_floor` is the same table of second timings."""

    def __init__(
        self,
        predictor: str,
        part: str,
        rows: Sequence[NetErrors],
        floor: Sequence[NetErrors],
        inside: float,
        notes: Sequence[str] = (),
    ):
        super().__init__(rows, ERROR_COLUMNS, f"{predictor}, nets of part '{part}'", what="band")
        self.predictor = predictor
        self.part = part
        self.noise_floor = Table(floor, ERROR_COLUMNS, "The same nets timed a second time", what="band")
        self.share_inside = inside  # of the nets within their 80 % interval
        self.notes = list(notes)  # where these nets differ from those of the training

    def to_dict(self) -> dict[str, Any]:
        """Plain values only, ready for JSON."""
        return {
            "predictor": self.predictor,
            "part": self.part,
            "errors": self.to_dicts(),
            "noise_floor": self.noise_floor.to_dicts(),
            "share_inside_interval": self.share_inside,
            "notes": self.notes,
        }

    def sentences(self) -> list[str]:
        """What stands below the table."""
        return [f"{self.share_inside:.0%} of them within their 80 % interval", *self.notes]

    def __repr__(self) -> str:
        lines = [super().__repr__(), *self.sentences()]
        if len(self.noise_floor):
            lines += ["", repr(self.noise_floor)]
        return "\n".join(lines)


def evaluation(predictor: Trained, dataset: MeasuredNets, part: str) -> Evaluation:
    """Of those nets of a data set that are in this part of the set that the predictor was trained on."""
    predictor.check_kinds(dataset.kinds)
    measured = dataset.part(part, predictor.kinds)
    if not len(measured):
        raise InvalidArgumentError(f"the data set has no nets in its part '{part}'")
    predicted_s = predictor.predict_nets(measured.nets)
    factors = predictor.interval_factors(predicted_s)
    inside = np.abs(np.log(measured.latency_s / predicted_s)) <= np.log(factors)
    rows = by_band(predicted_s, measured.latency_s, measured.nets.weight_bytes())
    notes = [f"measured otherwise: {text}" for text in predictor.conditions.differences(measured.conditions)]
    if dataset.kinds != predictor.kinds and part != "all":
        notes.append(
            f"part '{part}' is that of a set of {words_of(predictor.kinds)}, which the predictor was trained on; of "
            f"{words_of(dataset.kinds)} alone other nets are in it"
        )
    return Evaluation(predictor.name, part, rows, noise_floor(measured), float(inside.mean()), notes)
