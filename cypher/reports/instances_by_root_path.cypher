// name: instances-by-root-path
// title: All instances of a type, by the types on their shortest root paths
// group: Roots and paths
// mode: read
// searched: the 2,000 paths with the most bytes of the heap
// more: reduce(n = 0, x IN COLLECT { MATCH (t:Type) WHERE t.dump = d.number AND t.name = $type
// more: RETURN t.reachable_count } | n + x) > reduce(n = 0, x IN COLLECT { MATCH (:Type {dump:
// more: d.number, name: $type})<-[:OF_TYPE]-(p:TypePath) WHERE p.tree = 'root_paths' RETURN
// more: p.object_count } | n + x)
// param: dump   INTEGER       number of the dump
// param: type   STRING        full type name, as the runtime spells it
// param: limit  INTEGER = 20  maximum number of rows
// column: path            LIST<STRING>  the kind and role of the root, then the types down to the type itself
// column: instance_count  INTEGER       instances at the end of this path
// column: shallow_bytes   INTEGER       their shallow size, bytes
// column: share           FLOAT         of all reachable instances of the type, 0 to 1
//
// Every reachable instance is counted on one shortest path from a root, and equal
// paths of types are merged; consecutive objects of one type are one step. Types of one
// name that two class loaders or domains declare are two types: two steps of that name
// can follow one another. The paths were merged at load time, and the 2,000 with the most bytes of the whole heap are
// stored: the shares add up to less than 1 if some instances are on others. Continue
// with root-paths-of-type, which names the roots of the largest instances.
MATCH (t:Type)
WHERE t.dump = $dump AND t.name = $type
WITH sum(t.reachable_count) AS all
MATCH (:Type {dump: $dump, name: $type})<-[:OF_TYPE]-(n:TypePath)
WHERE n.tree = 'root_paths' AND n.object_count > 0
MATCH p = (top:TypePath WHERE top.depth = 0)-[:CONTAINS]->{1,65}(n)
WITH
  all,
  n,
  [g IN nodes(p)[1..] | coalesce(head([(g)-[:OF_TYPE]->(x:Type) | x.name]), g.name)] AS path
WITH
  all, path, sum(n.object_count) AS instance_count,
  sum(n.shallow_bytes) AS shallow_bytes
RETURN path, instance_count, shallow_bytes, 1.0 * instance_count / all AS share
ORDER BY instance_count DESC, path
LIMIT $limit
