"""latpred: latency, memory, energy and MIG slice of a neural network on a device, predicted from its file."""
from latpred._core import *
