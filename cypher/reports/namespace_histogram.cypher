// name: namespace-histogram
// title: Objects and bytes by namespace
// group: Types
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: namespace        STRING   namespace or library; empty if a type has none
// column: type_count       INTEGER  its types with instances
// column: instance_count   INTEGER  instances of those types
// column: shallow_bytes    INTEGER  their shallow size, bytes
// column: reachable_bytes  INTEGER  shallow size of the reachable instances, bytes
// column: largest_type     STRING   the type with the most bytes
//
// Which part of the program the objects belong to. Shallow sizes only: retained
// sizes of types overlap and cannot be added up. Continue with type-histogram, or
// with owners-of-type for the largest type.
MATCH (t:Type)
WHERE t.dump = $dump AND t.instance_count > 0
WITH t
ORDER BY t.shallow_bytes DESC, t.key
RETURN
  t.namespace AS namespace,
  count(t) AS type_count,
  sum(t.instance_count) AS instance_count,
  sum(t.shallow_bytes) AS shallow_bytes,
  sum(t.reachable_bytes) AS reachable_bytes,
  collect(t.name)[0] AS largest_type
ORDER BY shallow_bytes DESC, namespace
LIMIT $limit
