// name: type-histogram
// title: Objects and bytes by type
// group: Types
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type             STRING   full type name
// column: domain           INTEGER  ordinal of the domain that declares the type
// column: instance_count   INTEGER  instances
// column: shallow_bytes    INTEGER  their shallow size, bytes
// column: reachable_count  INTEGER  of those, reachable from a root
// column: reachable_bytes  INTEGER  shallow size of the reachable ones, bytes
// column: retained_bytes   INTEGER  freed if all instances of the type are freed, bytes
// column: estimated_count  INTEGER  estimated instances in the heap if the dump is a sample, else null
// column: estimated_bytes  INTEGER  their estimated shallow size, bytes, else null
//
// The class histogram. Strings and arrays lead in every heap and say little; a type
// of your own with far more instances than expected says much. Sorted by shallow
// size: retained-types sorts by retained size. Continue with owners-of-type or
// root-paths-of-type. For a sampled dump, all counts except the estimates, and the
// retained sizes, cover only the objects in the dump. The counts are computed at
// load time: no objects are scanned.
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
