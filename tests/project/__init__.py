"""Tests of the project itself: imports, documents, packaging."""
