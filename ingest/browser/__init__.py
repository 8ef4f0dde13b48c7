"""What Neo4j Browser is given: a guide, a style, and the pages it fetches."""
