"""Whether two checkouts answer alike: ``python -m tests.same OTHER``.

For work that must change no answer. This checkout and OTHER, each with a ``.venv`` of
its own (``make .venv/.tools``), are asked the same about the same dumps: the samples,
if they are at hand, and generated ones of every format. Compared are exit codes,
standard output, the first line of an error, and exported tables column by column.
With ``--server`` all dumps are instead loaded into an embedded Neo4j of each checkout,
and every query of the library is asked about every dump.

A key, column or table that is named with ``--ignore`` may differ or be in one of them
only; what was left out because of it is listed. Last line: ``N answers compared, M
differ``; exit code 1 if any do.

Commands run one after the other in one process of each checkout, which is much faster
than a process for each; bad input and a dump of each format are given to
``.venv/bin/ingest`` itself. Takes three minutes; with a server a
quarter of an hour. ``--only`` chooses dumps by a part of their names.
"""
