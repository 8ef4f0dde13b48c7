"""Everything that knows Neo4j."""
