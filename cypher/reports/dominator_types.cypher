// name: dominator-types
// title: The top of the dominator tree, by type
// group: Ownership
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type            STRING   full type name
// column: domain          INTEGER  ordinal of the domain that declares the type
// column: object_count    INTEGER  instances that no other object dominates
// column: retained_bytes  INTEGER  sum of their retained sizes, bytes
// column: share           FLOAT    share of the reachable bytes, 0 to 1
//
// Splits the reachable heap into parts that do not overlap: every reachable byte is
// retained by exactly one object at the top of the dominator tree, and here those
// objects are added up by type. A type with many small instances is a group without
// a common owner, as in leak-suspects. Continue with root-paths-of-type.
MATCH (d:Dump {number: $dump})
MATCH (t:Type)
WHERE t.dump = $dump AND t.top_count > 0
RETURN
  t.name AS type,
  t.domain AS domain,
  t.top_count AS object_count,
  t.top_retained_bytes AS retained_bytes,
  CASE
    WHEN d.reachable_bytes > 0 THEN 1.0 * t.top_retained_bytes / d.reachable_bytes
    ELSE 0.0
  END AS share
ORDER BY retained_bytes DESC, t.key
LIMIT $limit
