-- title: Programs and versions
-- note: Bytes are those of the reachable heap.
SELECT
  program, version,
  count(*) AS dumps,
  count(DISTINCT host) AS hosts,
  strftime(max(taken_at), '%Y-%m-%d') AS last_dump,
  quantile_disc(reachable_bytes, 0.5) AS p50_bytes,
  quantile_disc(reachable_bytes, 0.95) AS p95_bytes
FROM ready
GROUP BY program, version, version_key
ORDER BY program, version_key NULLS FIRST, version NULLS FIRST
LIMIT $limit
