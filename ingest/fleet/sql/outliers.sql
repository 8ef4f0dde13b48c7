-- title: Outliers
-- note: Dumps whose reachable heap is far from the median of the program and version: more
-- note: than 3.5 times the median distance from the median, scaled to a standard
-- note: deviation (Iglewicz and Hoaglin), in groups of five dumps or more.
-- next: ingest load
WITH medians AS (
  SELECT program, version, median(reachable_bytes) AS middle
  FROM ready GROUP BY ALL HAVING count(*) >= 5
),
distances AS (
  SELECT ready.program, ready.version, any_value(middle) AS middle,
    median(abs(reachable_bytes - middle)) AS distance
  FROM ready JOIN medians
    ON ready.program = medians.program
    AND ready.version IS NOT DISTINCT FROM medians.version
  GROUP BY ready.program, ready.version
)
SELECT
  ready.program, ready.version, host, taken_at, reachable_bytes,
  round(reachable_bytes / nullif(middle, 0), 2) AS times_median,
  source AS dump
FROM ready JOIN distances
  ON ready.program = distances.program
  AND ready.version IS NOT DISTINCT FROM distances.version
WHERE 0.6745 * abs(reachable_bytes - middle) > 3.5 * greatest(distance, middle * 0.01)
ORDER BY abs(reachable_bytes - middle) DESC, dump_id
LIMIT $limit
