import sys

from latpred.cli import main

sys.exit(main())
