// name: oldest-objects
// title: Objects that outlived the most collections of the trace
// mode: read
// param: dump   INTEGER        number of the dump
// param: born   BOOLEAN = true only those that were allocated during the trace
// param: limit  INTEGER = 20   most rows to return
// column: type                  STRING   full name of its type
// column: address               STRING   hexadecimal, as a debugger prints it
// column: collections_survived  INTEGER  collections that looked at it and left it alive
// column: born_in_gc            INTEGER  the first of those; null where it was there before
// column: generation            INTEGER  0, 1 or 2; 3 for large objects, 4 for pinned
// column: shallow_bytes         INTEGER  its own bytes
// column: retained_bytes        INTEGER  what would be freed if it went, bytes
// column: known_at              STRING   its address when the trace first tells of it
//
// Of those with equal ages the ones that retain most. What came with the program's
// start is old by right: with born they are left out. Go on with why for an address.
// No row: the trace does not tell what its collections kept.
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
