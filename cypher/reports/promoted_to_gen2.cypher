// name: promoted-to-gen2
// title: Objects allocated during the trace and already in generation 2, by type
// group: Traces
// needs: lifetimes
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type                STRING   full type name
// column: object_count        INTEGER  number of objects
// column: shallow_bytes       INTEGER  their shallow size, bytes
// column: first_born_in_gc    INTEGER  first collection after the allocation of the oldest
// column: last_born_in_gc     INTEGER  first collection after the allocation of the youngest
// column: fewest_collections  INTEGER  fewest collections that any of them survived
// column: reachable_count     INTEGER  of the objects, reached by a root
//
// Objects that live just long enough to reach generation 2 are the most expensive
// for a collector: only a full collection frees them. Types used for short tasks,
// such as requests, buffers or work items, should not be here. No rows: the trace
// does not record it.
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
