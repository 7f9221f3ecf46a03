"""Strings: vocabulary, sentences, languages, placeholders, letter case, spelling; no tensor."""
