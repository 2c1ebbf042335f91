"""Run a command and print its wall time, processor time, peak resident memory and output as JSON.

A process inherits the peak of the one that started it. The benchmarks hold gigabytes, so commands are started from
here, where a few megabytes are in use. Only the standard library, so that this stays small.
"""

import json
import resource
import subprocess
import sys
import time

start = time.perf_counter()
done = subprocess.run(sys.argv[1:], capture_output=True, text=True, check=False)
seconds = time.perf_counter() - start
if done.returncode:
    sys.exit(done.stderr or done.stdout or f"exit code {done.returncode}")
unit = 1 if sys.platform == "darwin" else 1024
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({
    "seconds": seconds, "processor_seconds": used.ru_utime + used.ru_stime, "peak_bytes": used.ru_maxrss * unit,
    "output": done.stdout,
}))  # fmt: skip
