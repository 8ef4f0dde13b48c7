"""Guide and style for Neo4j Browser, and the server that offers them."""
