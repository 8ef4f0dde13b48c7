// name: promoted-to-gen2
// title: Objects allocated during the trace that are in generation 2 now, by type
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: type                     STRING   full name of their type
// column: object_count             INTEGER  objects
// column: shallow_bytes            INTEGER  bytes of those
// column: first_born_in_gc         INTEGER  the first collection that the oldest went through
// column: last_born_in_gc          INTEGER  the same of the youngest
// column: fewest_collections       INTEGER  collections that made the quickest one old
// column: reachable_count          INTEGER  of the objects, reached by a strong root
//
// What lives just long enough to become old is what collectors pay most for: only a
// full collection frees it again. Types of short work, such as requests, buffers or
// tasks, should not be here. No row: the trace does not tell of it.
MATCH (o:Object)
WHERE o.dump = $dump AND o.generation = 2 AND o.born_in_gc IS NOT NULL
MATCH (o)-[:INSTANCE_OF]->(t:Type)
WITH t.name AS type, count(*) AS object_count, sum(o.shallow_bytes) AS shallow_bytes,
  min(o.born_in_gc) AS first_born_in_gc, max(o.born_in_gc) AS last_born_in_gc,
  min(o.collections_survived) AS fewest_collections,
  sum(CASE WHEN o.root_distance IS NULL THEN 0 ELSE 1 END) AS reachable_count
RETURN
  type,
  object_count,
  shallow_bytes,
  first_born_in_gc,
  last_born_in_gc,
  fewest_collections,
  reachable_count
ORDER BY shallow_bytes DESC, object_count DESC, type
LIMIT $limit
