// name: root-paths-of-type
// title: Shortest root paths of the instances of a type, merged
// group: Roots and paths
// mode: read
// searched: the $instances instances that retain most
// more: reduce(n = 0, x IN COLLECT { MATCH (t:Type) WHERE t.dump = d.number AND t.name = $type
// more: RETURN t.reachable_count } | n + x) > $instances
// param: dump       INTEGER        number of the dump
// param: type       STRING         full type name, as the runtime spells it
// param: instances  INTEGER = 500  number of instances to follow, by retained size
// param: limit      INTEGER = 20   maximum number of rows
// column: path            LIST<STRING>  the root, then the types down to the type itself
// column: instance_count  INTEGER       instances at the end of this path
// column: shallow_bytes   INTEGER       their shallow size, bytes
// column: retained_bytes  INTEGER       sum of their retained sizes, bytes; counts nested objects twice
//
// One shortest path for each instance, written as types; equal ones are merged and
// counted: the few rows with high counts are the patterns that keep the type alive.
// Consecutive objects of one type, as in a linked list, are one step. Unreachable
// instances are left out (see unreachable-types). If an instance has several
// shortest paths, one of them is used. Continue with shortest-root-path for an
// instance (objects-of-type), or with owners-of-type.
MATCH (:Type {dump: $dump, name: $type})<-[:INSTANCE_OF]-(o:Object)
WHERE o.root_distance IS NOT NULL
WITH o
ORDER BY o.retained_bytes DESC, o.key
LIMIT $instances
CALL (o) {
  MATCH p = (o)
    ((x:Object WHERE x.root_distance > 1)<-[:REFERENCES]-(y:Object)
      WHERE y.root_distance = x.root_distance - 1){0,100000}
    (first:Object WHERE first.root_distance = 1)
  WITH first, reverse(nodes(p)) AS steps
  LIMIT 1
  RETURN first, [n IN steps | head([(n)-[:INSTANCE_OF]->(t:Type) | t.name])] AS names
}
WITH first, collect({object: o, names: names}) AS ends
CALL (first) {
  MATCH (first)<-[:REFERENCES]-(r:Root)
  RETURN r.name AS root
  ORDER BY r.key
  LIMIT 1
}
UNWIND ends AS end
WITH root, end.object AS o, end.names AS names
WITH o, reduce(
  path = [root], name IN names |
  CASE WHEN size(path) > 1 AND path[-1] = name THEN path ELSE path + name END
) AS path
WITH path, count(*) AS instance_count, sum(o.shallow_bytes) AS shallow_bytes,
  sum(o.retained_bytes) AS retained_bytes
RETURN path, instance_count, shallow_bytes, retained_bytes
ORDER BY instance_count DESC, retained_bytes DESC, path
LIMIT $limit
