"""Train a model on a corpus: loss, optimiser, training loop, and runs that can be resumed."""
