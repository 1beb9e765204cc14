"""For tests of campaigns: every second probe takes twice as long."""

import dataclasses
import itertools

from latpred.campaign import health

_probe = health.Prober.probe
_factor = itertools.cycle([1.0, 2.0])


def _disturbed(prober):
    found = _probe(prober)
    return dataclasses.replace(found, compute_s=next(_factor) * 1e-3, read_s=1e-2)


health.Prober.probe = _disturbed
