"""Every table and figure of the dissertation as a named experiment, our numbers beside the published ones."""

__version__ = "0.2.0.dev0"
