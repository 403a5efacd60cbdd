"""`python -m tests.support.planted_shoed DEFECT WORDS`: shoed with one of the campaign's planted defects."""

from __future__ import annotations

import sys

from controller.cli import shoed
from simulators.campaign.planted_defects import planted

if __name__ == "__main__":
    _, name, *words = sys.argv
    sys.argv = ["shoed", *words]
    with planted(name):
        shoed.main()
