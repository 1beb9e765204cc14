"""Campaigns: (recipes) x (device, runtime, precision, threads, batch) measured into one data set file.

from latpred.campaign import Campaign, run

run(Campaign(recipes="fnn", count=1000), Path("nets.parquet"), minutes=5)
"""

from latpred.campaign.noise import NoiseFloor
from latpred.campaign.run import Summary, run
from latpred.campaign.spec import Campaign
from latpred.step import Step

__all__ = ["Campaign", "NoiseFloor", "Step", "Summary", "run"]
