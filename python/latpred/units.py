"""What tables, files and people count in, in what latpred counts in: seconds, bytes, hertz, watts."""

MILLISECOND = 1e-3
NANOSECOND = 1e-9
MILLISECONDS_PER_S = 1e3
MICROSECONDS_PER_S = 1e6
NANOSECONDS_PER_S = 1e9
MEGABYTE = 1e6
GIGABYTE = 1e9
MEBIBYTE = 2.0**20
GIGA = 1e9
MILLIWATT = 1e-3
