"""Queries as values: parsed ``.cypher`` files, and answers."""
