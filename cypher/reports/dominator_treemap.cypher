// name: dominator-treemap
// title: The top of the dominator tree, for a treemap or an indented list
// group: Ownership
// mode: read
// param: dump   INTEGER         number of the dump
// param: limit  INTEGER = 3000  maximum number of rows
// column: object          INTEGER  index of the object in the dump, from 0
// column: dominator       INTEGER  index of its immediate dominator; null at the top
// column: type            STRING   full type name
// column: namespace       STRING   namespace or library; empty if the type has none
// column: address         STRING   hexadecimal, as a debugger prints it
// column: value           STRING   start of the text or name stored in the object
// column: shallow_bytes   INTEGER  shallow size, bytes
// column: retained_bytes  INTEGER  retained size, bytes: freed if the object is freed
// column: retained_count  INTEGER  objects freed with it, including itself
// column: root_distance   INTEGER  references from the nearest root; 1 if a root refers to it directly
// column: generation      INTEGER  0, 1 or 2; 3 is the LOH, 4 the POH; null if not recorded
//
// The objects with the largest retained sizes, each with its dominator. No object
// retains more than its dominator, so these rows are the connected top of the tree,
// parents before children. The retained size of an object is its shallow size, plus
// those of its children listed here, plus those of its smaller children, which are
// not listed. Objects that retain nothing are left out. Use dominated-by to expand
// an object further.
MATCH (d:Dump {number: $dump})
CALL (d) {
  MATCH (o:RetainsMost)
  WHERE o.dump = d.number AND o.retained_bytes > 0
  WITH o
  LIMIT $limit
  RETURN count(o) = $limit AS are_enough
}
CALL (are_enough) {
  MATCH (o:RetainsMost)
  WHERE are_enough AND o.dump = $dump AND o.retained_bytes > 0
  RETURN o
  ORDER BY o.dump DESC, o.retained_bytes DESC, o.retained_count DESC, o.key
  LIMIT $limit
  UNION ALL
  MATCH (o:Object)
  WHERE NOT are_enough AND o.dump = $dump AND o.retained_bytes > 0
  RETURN o
  ORDER BY o.dump DESC, o.retained_bytes DESC, o.retained_count DESC, o.key
  LIMIT $limit
}
OPTIONAL MATCH (o)<-[:DOMINATES]-(p:Object)
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
RETURN
  o.key % 1099511627776 AS object,
  p.key % 1099511627776 AS dominator,
  coalesce(t.name, o.type_name) AS type,
  coalesce(t.namespace, '') AS namespace,
  o.address AS address,
  coalesce(left(o.value, 40), '') AS value,
  o.shallow_bytes AS shallow_bytes,
  o.retained_bytes AS retained_bytes,
  o.retained_count AS retained_count,
  o.root_distance AS root_distance,
  o.generation AS generation
ORDER BY o.retained_bytes DESC, o.retained_count DESC, o.key
LIMIT $limit
