"""How a translation came about: attention maps, probabilities, alternatives, pictures."""
