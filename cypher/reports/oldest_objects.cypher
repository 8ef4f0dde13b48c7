// name: oldest-objects
// title: Objects that survived the most collections of the trace
// group: Traces
// needs: lifetimes
// mode: read
// param: dump   INTEGER         number of the dump
// param: born   BOOLEAN = true  only objects allocated during the trace
// param: limit  INTEGER = 20    maximum number of rows
// column: type                  STRING   full type name
// column: address               STRING   hexadecimal, as a debugger prints it
// column: collections_survived  INTEGER  collections that examined it and left it alive
// column: born_in_gc            INTEGER  the first of those; null if it existed before the trace
// column: generation            INTEGER  0, 1 or 2; 3 is the LOH, 4 the POH
// column: shallow_bytes         INTEGER  shallow size, bytes
// column: retained_bytes        INTEGER  retained size, bytes: freed if the object is freed
// column: known_at              STRING   its address at its first mention in the trace
//
// Objects of equal age are sorted by retained size. Objects allocated when the
// program started are expected to be old: by default, born leaves them out. Continue
// with why for an address. No rows: the trace has no survival events.
MATCH (o:Object)
WHERE o.dump = $dump AND o.collections_survived >= 0
  AND (NOT $born OR o.born_in_gc IS NOT NULL)
WITH o
ORDER BY o.collections_survived DESC, o.retained_bytes DESC, o.key
LIMIT $limit
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
RETURN
  t.name AS type,
  o.address AS address,
  o.collections_survived AS collections_survived,
  o.born_in_gc AS born_in_gc,
  o.generation AS generation,
  o.shallow_bytes AS shallow_bytes,
  o.retained_bytes AS retained_bytes,
  o.known_at AS known_at
ORDER BY o.collections_survived DESC, o.retained_bytes DESC, o.key
LIMIT $limit
