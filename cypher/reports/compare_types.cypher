// name: compare-types
// title: Types with more or fewer objects than in an earlier dump
// group: Comparison
// needs: earlier
// mode: read
// param: dump     INTEGER        number of the dump
// param: earlier  STRING = null  name of the earlier dump; null for the previous one of the program
// param: limit    INTEGER = 20   maximum number of rows
// column: type                 STRING   full type name
// column: more_objects         INTEGER  reachable objects more than in the earlier dump
// column: object_count         INTEGER  reachable objects in this dump
// column: more_bytes           INTEGER  shallow bytes more
// column: more_retained_bytes  INTEGER  retained bytes more
// column: retained_bytes       INTEGER  what they retain in this dump, bytes
// column: earlier              STRING   name of the earlier dump
//
// Types are matched by their full names, so that it does not matter whether objects
// moved. Only strongly reachable objects count: garbage that was not freed yet is no
// growth. Sorted by how much the retained size differs, in either direction. A type
// that grew says what accumulates; see compare-paths for where, and growth for what
// grew in each of several dumps. Any loaded dump can be compared: name it as earlier.
MATCH (d:Dump {number: $dump})
MATCH (e:Dump {state: 'ready'})
WHERE CASE WHEN $earlier IS NULL THEN EXISTS { (e)-[:NEXT]->(d) } ELSE e.name = $earlier END
WITH d.number AS now, e.number AS then, e.name AS earlier
MATCH (t:Type)
WHERE t.dump = now OR t.dump = then
WITH earlier, t.name AS type, CASE WHEN t.dump = now THEN 1 ELSE 0 END AS here,
  t.reachable_count AS many, t.reachable_bytes AS size, t.retained_bytes AS retained
WITH earlier, type, sum(here * many) AS object_count, sum((1 - here) * many) AS before,
  sum((2 * here - 1) * size) AS more_bytes, sum(here * retained) AS retained_bytes,
  sum((2 * here - 1) * retained) AS more_retained_bytes
WHERE object_count <> before OR more_bytes <> 0 OR more_retained_bytes <> 0
RETURN
  type,
  object_count - before AS more_objects,
  object_count,
  more_bytes,
  more_retained_bytes,
  retained_bytes,
  earlier
ORDER BY abs(more_retained_bytes) DESC, abs(more_objects) DESC, type
LIMIT $limit
