"""A server for coding agents: questions about dumps, with answers of bounded size."""
