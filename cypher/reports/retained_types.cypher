// name: retained-types
// title: Types with the largest retained sizes
// group: Ownership
// mode: read
// searched: types that retain at least $min_bytes bytes
// param: dump       INTEGER       number of the dump
// param: min_bytes  INTEGER = 0   smallest retained size to list, bytes
// param: limit      INTEGER = 20  maximum number of rows
// column: type             STRING   full type name
// column: domain           INTEGER  ordinal of the domain that declares the type
// column: retained_bytes   INTEGER  freed if all instances of the type are freed, bytes
// column: reachable_count  INTEGER  reachable instances
// column: reachable_bytes  INTEGER  their shallow size, bytes
//
// What would be freed if all instances of a type were freed together: objects kept
// alive by two instances count, and nothing counts twice within a row. Rows overlap
// one another: a dictionary and its entries retain the same bytes. Continue with
// owners-of-type or root-paths-of-type.
MATCH (t:Type)
WHERE t.dump = $dump AND t.reachable_count > 0 AND t.retained_bytes >= $min_bytes
RETURN
  t.name AS type,
  t.domain AS domain,
  t.retained_bytes AS retained_bytes,
  t.reachable_count AS reachable_count,
  t.reachable_bytes AS reachable_bytes
ORDER BY retained_bytes DESC, t.key
LIMIT $limit
