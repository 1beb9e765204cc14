"""Run by .ci/run in an environment with the wheel, numpy and rich alone: latpred answers, and says what is missing."""

import importlib.util
import sys

import latpred
from latpred._torch import predictors_module

for package in ("torch", "onnx", "pandas", "matplotlib"):
    if importlib.util.find_spec(package) is not None:
        sys.exit(f"{package} is installed: this environment shows nothing")
prediction = latpred.predict("examples/resnet50.onnx", batch=32, device="A100")
if not prediction.latency_ms > 0:
    sys.exit(f"no latency: {prediction}")
try:
    predictors_module()
except latpred.MissingDependencyError as error:
    if "latpred[torch]" not in str(error):
        sys.exit(f"the message does not name the extra: {error}")
else:
    sys.exit("the LibTorch part was loaded without torch")
if "transformer" not in [row.name for row in latpred.predictors()]:
    sys.exit("predictors() does not list what needs torch")
print(prediction)
