-- title: Types by share of the fleet
-- note: Shallow bytes of reachable instances; the share is of all reachable bytes.
SELECT
  name AS type,
  count(DISTINCT dump_id) AS dumps,
  round(sum(reachable_bytes) / (SELECT sum(reachable_bytes) FROM ready), 4) AS share,
  sum(reachable_count)::BIGINT AS objects,
  sum(reachable_bytes)::BIGINT AS bytes,
  quantile_disc(reachable_bytes, 0.95) AS p95_bytes
FROM types SEMI JOIN ready USING (dump_id)
WHERE reachable_count > 0
GROUP BY name
ORDER BY bytes DESC, name
LIMIT $limit
