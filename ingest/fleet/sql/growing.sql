-- title: Growing with uptime
-- note: Leaks whose bytes grow with the uptime of the program, in three dumps or more. Where
-- note: no uptime is recorded, the time since the first dump of the same program, version
-- note: and host counts. r2 is the fit of a straight line, 1 being the best.
-- next: ingest load
SELECT
  program, leak,
  count(DISTINCT dump_id) AS dumps,
  count(DISTINCT host) AS hosts,
  round(regr_slope(bytes, age_s) * 3600)::BIGINT AS bytes_per_hour,
  round(regr_r2(bytes, age_s), 3) AS r2,
  arg_max(source, (age_s, dump_id)) AS dump,
  fingerprint
FROM (
  SELECT *, coalesce(uptime_s, epoch(taken_at - min(taken_at)
    OVER (PARTITION BY program, version, host))) AS age_s
  FROM leaks
)
WHERE age_s IS NOT NULL
GROUP BY program, leak, fingerprint
HAVING count(DISTINCT dump_id) >= 3 AND regr_slope(bytes, age_s) > 0
  AND regr_r2(bytes, age_s) >= 0.5
ORDER BY bytes_per_hour DESC, program, fingerprint
LIMIT $limit
