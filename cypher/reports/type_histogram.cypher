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
//
// The classic first look. Strings and arrays lead in every heap and say little; a
// type of your own with far more instances than you expect says much. Sorted by own
// bytes: retained-types sorts by what a type keeps. Go on with owners-of-type or
// root-paths-of-type. The counts come from the load: no object is scanned.
MATCH (t:Type)
WHERE t.dump = $dump AND t.instance_count > 0
RETURN
  t.name AS type,
  t.domain AS domain,
  t.instance_count AS instance_count,
  t.shallow_bytes AS shallow_bytes,
  t.reachable_count AS reachable_count,
  t.reachable_bytes AS reachable_bytes,
  t.retained_bytes AS retained_bytes
ORDER BY shallow_bytes DESC, instance_count DESC, t.key
LIMIT $limit
