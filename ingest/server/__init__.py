"""A Neo4j to talk to: its jars, its launch, its home folder, its memory."""
