"""What 80 % intervals share; quantile.h has it for C++."""

# Half-width of an 80 % interval of the normal distribution, in its standard deviation.
NORMAL_80 = 1.2816

__all__ = ["NORMAL_80"]
