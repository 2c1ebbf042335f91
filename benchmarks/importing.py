"""How long `import sureness` takes, against `import numpy`."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.tables import Scale, Table, time_of
from benchmarks.timing import python, ratio, take_turns, watched

COMMAND = Path(sys.executable).with_name("sureness")


def importing(scale: Scale) -> Table:
    """Whole processes, from start to end."""
    runs = take_turns(
        {
            "python": python("pass"),
            "import numpy": python("import numpy"),
            "import sureness": python("import sureness"),
            "sureness.expected_calibration_error": python("import sureness; sureness.expected_calibration_error"),
            "sureness.GaussianCalibrator": python("import sureness; sureness.GaussianCalibrator"),
            "sureness --version": watched(COMMAND, "--version"),
        },
        scale.rounds,
    )
    rows = [(name, time_of(side.median), str(ratio(side, runs["import numpy"]))) for name, side in runs.items()]
    return Table(
        "Import time against numpy",
        ("process", "time", "times that of import numpy"),
        rows,
        notes=("Processes from start to end, files cached and bytecode compiled. Names load when first used.",),
    )
