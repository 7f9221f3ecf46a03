"""A model on disk: where it lies, how it is written and read, what another may begin with."""
