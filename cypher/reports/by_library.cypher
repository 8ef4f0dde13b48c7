// name: by-library
// title: Memory by package or library
// group: Types
// mode: read
// param: dump    INTEGER       number of the dump
// param: prefix  STRING = ""   list each library whose name starts with this; if empty, group by package
// param: limit   INTEGER = 20  maximum number of rows
// column: library             STRING   package, such as `package:app`, or library
// column: library_count       INTEGER  libraries in it that have instances
// column: type_count          INTEGER  types with instances
// column: instance_count      INTEGER  instances of those types
// column: shallow_bytes       INTEGER  their shallow size, bytes
// column: reachable_bytes     INTEGER  shallow size of the reachable ones, bytes
// column: top_retained_bytes  INTEGER  sum of the retained sizes of instances that no other object dominates, bytes
// column: largest_type        STRING   the type with the most bytes
//
// Which code the objects belong to. The package is the part of the library address
// before the first slash. Strings and lists count for the library that declares
// their type, not for the one that uses them, so read top_retained_bytes too, and
// dominator-types for the owners.
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
