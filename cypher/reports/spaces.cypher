// name: spaces
// title: Parts of the heap of an Android program
// group: JVM
// needs: spaces
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: space              STRING   `app`, `zygote` or `image`
// column: object_count       INTEGER  objects in it
// column: shallow_bytes      INTEGER  their shallow size, bytes
// column: unreachable_count  INTEGER  of those, unreachable objects
// column: top_bytes          INTEGER  sum of the retained sizes of those that no other object dominates, bytes
//
// Only the app space is the program's own. The zygote and image spaces are shared by
// all programs, and were filled before this one started.
MATCH (o:Object)
WHERE o.key >= $dump * 1099511627776 AND o.key < ($dump + 1) * 1099511627776
  AND o.space IS NOT NULL
RETURN
  o.space AS space,
  count(o) AS object_count,
  sum(o.shallow_bytes) AS shallow_bytes,
  sum(CASE WHEN o.root_distance IS NULL THEN 1 ELSE 0 END) AS unreachable_count,
  sum(CASE WHEN EXISTS { (:Dump)-[:DOMINATES]->(o) } THEN o.retained_bytes ELSE 0 END)
    AS top_bytes
ORDER BY shallow_bytes DESC, space
LIMIT $limit
