"""From parallel text to batches: read, clean, tokenise, alter, arrange."""
