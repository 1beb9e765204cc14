"""Measures inference on one NVIDIA GPU, part by part. README.md says how to run it."""
