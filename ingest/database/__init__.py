"""Tables into Neo4j, and questions out of it."""
