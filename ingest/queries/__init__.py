"""Questions as values: what a ``.cypher`` file says, and what it answers."""
