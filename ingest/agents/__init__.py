"""A server for coding agents: few questions about dumps, in answers of bounded size."""
