"""Chapter 3: a large and a small model teach each other."""

from sureness_reproduction.distillation.studies import STUDIES as STUDIES
