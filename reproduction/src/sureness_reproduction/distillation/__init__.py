"""Chapter 3: a large and a small model teach each other.

Importing it registers the methods that only its tables need, and so does installing the distribution:
`sureness distill --method mutual`.
"""

from sureness import register

_CONTROLS = "sureness_reproduction.distillation.controls"

register("method", "bd-public", f"{_CONTROLS}:BD_PUBLIC")
register("method", "bd-public-cdae", f"{_CONTROLS}:BD_PUBLIC_CDAE")
register("method", "to-teacher", f"{_CONTROLS}:TO_TEACHER")
register("method", "mutual", f"{_CONTROLS}:MUTUAL")
register("method", "rank-aware", f"{_CONTROLS}:RANK_AWARE")
register("method", "top-n", f"{_CONTROLS}:TOP_N")
register("method", "swapped", f"{_CONTROLS}:SWAPPED")
register("method", "calibrated", f"{_CONTROLS}:CALIBRATED")
register("method", "constant-labels", f"{_CONTROLS}:CONSTANT_LABELS")
register("method", "drawn-negatives", f"{_CONTROLS}:DRAWN_NEGATIVES")
register("method", "continued", f"{_CONTROLS}:CONTINUED")
