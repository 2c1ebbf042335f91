"""Text tables: looked at before they are read; what could mean two things is refused."""
