"""heaproots: garbage-collector heap dumps into a Neo4j graph."""

__version__ = "0.1.0"
