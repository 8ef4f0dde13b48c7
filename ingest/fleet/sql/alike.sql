-- title: Dumps with the same leaks
-- note: Dumps of a program that have exactly the same leaks. The match is exact:
-- note: equal fingerprints mean equal paths from the root.
-- next: ingest load
SELECT
  program,
  count(*) AS dumps,
  count(DISTINCT host) AS hosts,
  list(DISTINCT version ORDER BY version) AS versions,
  leaks,
  quantile_disc(reachable_bytes, 0.5) AS p50_bytes,
  arg_max(source, (reachable_bytes, dump_id)) AS dump
FROM (
  SELECT ready.program, ready.dump_id, host, ready.version, source, reachable_bytes,
    coalesce(of_dump.leaks, []) AS leaks, of_dump.fingerprints
  FROM ready LEFT JOIN (
    SELECT dump_id, list(DISTINCT leak ORDER BY leak) AS leaks,
      list(DISTINCT fingerprint ORDER BY fingerprint) AS fingerprints
    FROM leaks GROUP BY dump_id
  ) AS of_dump USING (dump_id)
)
GROUP BY program, leaks, fingerprints
ORDER BY dumps DESC, p50_bytes DESC, program, leaks
LIMIT $limit
