// name: retained-types
// title: Types whose instances together retain the most
// mode: read
// param: dump       INTEGER       number of the dump
// param: min_bytes  INTEGER = 0   smallest retained size to show, bytes
// param: limit      INTEGER = 20  most rows to return
// column: type             STRING   full name
// column: domain           INTEGER  ordinal of the domain that declares it
// column: retained_bytes   INTEGER  what would be freed if all its instances went, bytes
// column: reachable_count  INTEGER  instances that a strong root reaches
// column: reachable_bytes  INTEGER  bytes of those
//
// What would go if a type had no instance at all, as a set: what two instances hold
// together counts, nothing counts twice within one row. Rows overlap one another: a
// dictionary and its entries retain the same bytes. Go on with owners-of-type or
// root-paths-of-type for a type of this answer.
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
