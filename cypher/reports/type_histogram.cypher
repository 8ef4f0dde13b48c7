// name: type-histogram
// title: How many objects of each type, and how many bytes
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: type             STRING   full name
// column: domain           INTEGER  ordinal of the domain that declares it
// column: instance_count   INTEGER  objects of it
// column: shallow_bytes    INTEGER  bytes of those
// column: reachable_count  INTEGER  of those, reached by a strong root
// column: reachable_bytes  INTEGER  bytes of the reached ones
// column: retained_bytes   INTEGER  what would be freed if all its instances went, bytes
// column: estimated_count  INTEGER  objects of it in the heap, if the dump is a sample; else null
// column: estimated_bytes  INTEGER  bytes of those; else null
//
// The classic first look. Strings and arrays lead in every heap and say little; a
// type of your own with far more instances than you expect says much. Sorted by own
// bytes: retained-types sorts by what a type keeps. Go on with owners-of-type or
// root-paths-of-type. Of a sample all counts but the estimates are those of the
// objects in the dump, and so are its retained bytes. The counts come from the load: no object is scanned.
MATCH (t:Type)
WHERE t.dump = $dump AND t.instance_count > 0
RETURN
  t.name AS type,
  t.domain AS domain,
  t.instance_count AS instance_count,
  t.shallow_bytes AS shallow_bytes,
  t.reachable_count AS reachable_count,
  t.reachable_bytes AS reachable_bytes,
  t.retained_bytes AS retained_bytes,
  t.estimated_count AS estimated_count,
  t.estimated_bytes AS estimated_bytes
ORDER BY shallow_bytes DESC, instance_count DESC, t.key
LIMIT $limit
