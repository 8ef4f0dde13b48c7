// name: namespace-histogram
// title: How many objects of each namespace, and how many bytes
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: namespace        STRING   namespace or library; empty where a type has none
// column: type_count       INTEGER  types of it that have instances
// column: instance_count   INTEGER  objects of those types
// column: shallow_bytes    INTEGER  bytes of those
// column: reachable_bytes  INTEGER  of those, what a strong root reaches
// column: largest_type     STRING   the type with most of the bytes
//
// Which part of the program the bytes belong to. Own bytes only: retained sizes of
// types overlap and cannot be added up. Go on with type-histogram, or owners-of-type
// for the largest type.
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
