"""Measurements in one row format, and the recipes that rebuild what was measured."""
