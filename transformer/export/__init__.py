"""Checkpoints for other engines, compared with the model token for token."""
