"""Text in, text out: sentences, directions, and the guard around a translation."""
