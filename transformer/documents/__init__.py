"""Files as texts to translate, written again with their formatting."""
