"""The committed commands that fit the shipped predictors: python -m latpred.fitting.analytic, linear, roofline."""
