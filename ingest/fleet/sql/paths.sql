-- title: Dominator paths by share of dumps
-- note: Groups of objects merged by the types of their dominators, whether suspect or not.
-- note: Bytes are those of the group and all below it.
SELECT
  program,
  any_value(name) AS type,
  any_value(depth) AS depth,
  count(DISTINCT dump_id) AS dumps,
  quantile_disc(total_bytes, 0.5) AS p50_bytes,
  quantile_disc(total_bytes, 0.95) AS p95_bytes,
  sum(total_bytes)::BIGINT AS bytes,
  fingerprint
FROM type_paths SEMI JOIN ready USING (dump_id)
WHERE tree = 'dominators'
GROUP BY program, fingerprint
ORDER BY bytes DESC, program, fingerprint
LIMIT $limit
