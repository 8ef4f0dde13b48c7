-- title: Leaks by share of dumps
-- note: A leak is a suspect of one fingerprint: the same types and fields on the path from
-- note: the root. Its share is of the program's dumps; bytes are what it retains in a dump.
-- next: ingest load
SELECT
  program, leak,
  count(DISTINCT dump_id) AS dumps,
  round(count(DISTINCT dump_id) / any_value(program_dumps), 4) AS share,
  count(DISTINCT host) AS hosts,
  list(DISTINCT version ORDER BY version) AS versions,
  quantile_disc(bytes, 0.5) AS p50_bytes,
  quantile_disc(bytes, 0.95) AS p95_bytes,
  arg_max(sentence, (bytes, dump_id)) AS example,
  arg_max(source, (bytes, dump_id)) AS dump,
  fingerprint
FROM leaks
GROUP BY program, leak, fingerprint
ORDER BY dumps DESC, p95_bytes DESC, program, fingerprint
LIMIT $limit
