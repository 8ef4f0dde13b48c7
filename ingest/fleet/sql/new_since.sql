-- title: New since a version
-- note: Leaks in dumps of this version or later ones that no dump of an earlier one has.
-- note: Without --since, the version is the newest of each program. Programs of which
-- note: there are dumps of one version only are left out.
-- next: ingest load
WITH bounds AS (
  SELECT program,
    coalesce($since_key, max(version_key)) AS since_key,
    min(version_key) AS first_key
  FROM ready WHERE version_key IS NOT NULL GROUP BY program
),
later AS (
  SELECT program, count(*) AS dumps
  FROM ready JOIN bounds USING (program)
  WHERE version_key >= since_key AND first_key < since_key
  GROUP BY program
)
SELECT
  program, leak,
  arg_min(version, version_key) AS since,
  count(DISTINCT dump_id) AS dumps,
  round(count(DISTINCT dump_id) / any_value(later.dumps), 4) AS share,
  count(DISTINCT host) AS hosts,
  quantile_disc(bytes, 0.5) AS p50_bytes,
  arg_max(sentence, (bytes, dump_id)) AS example,
  arg_max(source, (bytes, dump_id)) AS dump,
  fingerprint
FROM leaks JOIN bounds USING (program) JOIN later USING (program)
WHERE version_key IS NOT NULL
GROUP BY program, leak, fingerprint, since_key
HAVING min(version_key) >= since_key
ORDER BY dumps DESC, p50_bytes DESC, program, fingerprint
LIMIT $limit
