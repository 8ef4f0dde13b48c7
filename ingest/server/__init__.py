"""The embedded Neo4j: its jars, launch, home folder and memory."""
