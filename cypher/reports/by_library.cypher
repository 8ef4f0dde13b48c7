// name: by-library
// title: Memory by package or library
// mode: read
// param: dump    INTEGER       number of the dump
// param: prefix  STRING = ""   libraries that begin so, each for itself; empty: by package
// param: limit   INTEGER = 20  most rows to return
// column: library             STRING   package, such as `package:app`, or the library
// column: library_count       INTEGER  libraries in it that have instances
// column: type_count          INTEGER  types with instances
// column: instance_count      INTEGER  objects of those
// column: shallow_bytes       INTEGER  bytes of those
// column: reachable_bytes     INTEGER  bytes of the reached ones
// column: top_retained_bytes  INTEGER  retained by those that only the roots dominate
// column: largest_type        STRING   type with the most bytes
//
// Whose code made the objects. A package is what stands before the first slash of a
// library's address. Bytes of strings and lists count where their types are
// declared, so read top_retained_bytes too, and dominator-types for who owns them.
MATCH (t:Type)
WHERE t.dump = $dump AND t.instance_count > 0 AND t.namespace STARTS WITH $prefix
WITH t, CASE WHEN $prefix = '' THEN split(t.namespace, '/')[0] ELSE t.namespace END
  AS library
ORDER BY t.shallow_bytes DESC, t.key
RETURN
  library,
  count(DISTINCT t.namespace) AS library_count,
  count(t) AS type_count,
  sum(t.instance_count) AS instance_count,
  sum(t.shallow_bytes) AS shallow_bytes,
  sum(t.reachable_bytes) AS reachable_bytes,
  sum(t.top_retained_bytes) AS top_retained_bytes,
  collect(t.name)[0] AS largest_type
ORDER BY shallow_bytes DESC, library
LIMIT $limit
