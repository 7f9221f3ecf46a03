"""Translate text: split it into sentences, choose a direction, and guard the translation."""
