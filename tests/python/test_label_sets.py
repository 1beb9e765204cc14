"""The sets of labels that are committed."""

import numpy as np
import pytest
from example_networks import REPOSITORY
from latpred.datasets import fusion, kernels
from latpred.labels import grouping, summary

pytest.importorskip("pyarrow")

DATA = REPOSITORY / "data" / "labels"


def test_the_documentation_counts_what_is_committed():
    page = (REPOSITORY / "docs" / "labels.md").read_text()
    fused, timed = fusion.load(DATA / "fusion.parquet"), kernels.load(*kernels.tables_of(DATA))
    assert summary.markdown(fused, timed) in page
    assert summary.facts(fused, timed) in page
    assert summary.totals(fused, timed) in (REPOSITORY / "docs" / "datasets.md").read_text()


def test_committed_labels_are_sound():
    networks = fusion.load(DATA / "fusion.parquet")
    assert len({network.recipe for network in networks}) == len(networks)
    assert len({network.family for network in networks}) >= 13
    for network in networks:
        assert (network.edges[0] < network.edges[1]).all()
        assert np.array_equal(grouping.kernel_groups(network.edges, network.group), network.group)
        assert (network.kernel_group < network.group.max() + 1).all()
        assert np.isnan(network.kernel_s).all()


def test_committed_engines_of_tensorrt_fuse_convolutions():
    networks = fusion.load(DATA / "tensorrt.parquet")
    assert len(networks) == 9
    for network in networks:
        names = network.operators
        fused = {
            (names[source], names[target])
            for (source, target), is_fused in zip(network.edges.T, network.edge_label, strict=True)
            if is_fused
        }
        assert fused & {("conv", "relu"), ("conv", "clip")}
        assert ("conv", "add") in fused
        assert network.kernel_s.min() > 0
