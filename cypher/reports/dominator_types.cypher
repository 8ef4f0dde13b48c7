// name: dominator-types
// title: The top of the dominator tree, by type
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: type            STRING   full name
// column: domain          INTEGER  ordinal of the domain that declares it
// column: object_count    INTEGER  instances that nothing but the roots dominates
// column: retained_bytes  INTEGER  retained bytes of those, summed
// column: share           FLOAT    of the reachable bytes, 0 to 1
//
// The whole reachable heap cut into pieces that do not overlap: every reachable byte
// is retained by exactly one object at the top, and here these are added up by type.
// A type with many small ones is a crowd without one owner: leak-suspects calls it a
// group. Go on with root-paths-of-type.
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
