"""The LibreTranslate API and the page over HTTP (extra `serve`)."""
