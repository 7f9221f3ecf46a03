"""Strings: vocabulary, sentences, languages, placeholders, capitals, spelling; no tensor."""
