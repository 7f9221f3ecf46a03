"""Models on disk: finding, writing and reading them, and initializing another model from one."""
