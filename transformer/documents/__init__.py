"""Parse files into texts to translate, and write them with the translations and formatting."""
