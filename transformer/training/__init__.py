"""From a corpus and settings to a model: loss, optimiser, the loop, runs that go on."""
