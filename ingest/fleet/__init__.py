"""Many dumps as Parquet datasets, and one question over all of them.

Each dump is read by itself, by a worker on this machine or on a cluster, and becomes
rows of a few datasets. `datasets` describes them: they are the contract with DuckDB,
Spark and whatever else reads Parquet.
"""
