"""Turn parallel text into batches: read, clean, tokenise, add noise, and plan batches."""
