"""latpred.host: this machine."""

import json
import os
import time

import latpred


def test_facts_are_those_of_the_system():
    host = latpred.host()
    assert host.speed is None
    assert host.facts.logical_cores == os.sysconf("SC_NPROCESSORS_ONLN")
    assert host.facts.memory_bytes == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert host.fingerprint == latpred.host().fingerprint
    assert host.fingerprint in repr(host)
    assert len(host.bandwidth) == 0


def test_measured():
    start = time.thread_time()
    host = latpred.host(measure=True)
    assert time.thread_time() - start < 2  # a busy machine makes only the rest longer
    assert "FLOP/s" in repr(host)
    assert host.facts.allowed_cores == len(os.sched_getaffinity(0))  # not the one that was measured
    assert host.bandwidth[0].bytes_per_s > host.bandwidth[-1].bytes_per_s
    assert "16 KiB" in repr(host.bandwidth)
    plain = json.loads(json.dumps(host.to_dict()))
    assert plain["fp32_flops_per_s"] > 1e8
    assert plain["read_bandwidth"][0]["working_set_bytes"] == 16 * 1024
    assert "<table>" in host._repr_html_()
