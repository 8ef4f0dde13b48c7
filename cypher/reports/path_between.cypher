// name: path-between
// title: Shortest path of references from one object to another
// group: Roots and paths
// mode: read
// param: dump   INTEGER         number of the dump
// param: from   STRING          address of the first object
// param: to     STRING          address of the second object
// param: limit  INTEGER = 1000  maximum number of rows
// column: domain          INTEGER  ordinal of its domain; null if the dump has only one
// column: step            INTEGER  0 is the first object
// column: field           STRING   field through which the previous step refers to it
// column: type            STRING   full type name
// column: address         STRING   hexadecimal, as a debugger prints it
// column: shallow_bytes   INTEGER  shallow size, bytes
// column: retained_bytes  INTEGER  retained size, bytes: freed if the object is freed
//
// How the first object refers to the second. No rows: there is no path, or the two
// are one object. Among several shortest paths, the one whose objects come first in the
// dump is shown. If the dominator-chain of both has rows in common, the common
// dominator matters more than the path.
MATCH (a:Object {dump: $dump, address: $from})
MATCH (b:Object {dump: $dump, address: $to})
WITH a, b
WHERE a <> b
CALL (a, b) {
  MATCH p = allShortestPaths((a)-[:REFERENCES*..2147483647]->(b))
  WITH p
  LIMIT 1001
  RETURN count(p) AS paths, min([n IN nodes(p) | n.key]) AS some
}
CALL (a, b, paths, some) {
  WITH some
  WHERE 1 <= paths <= 1000
  RETURN some AS way
  UNION
  WITH a, b, paths, some
  WHERE paths > 1000
  CALL (b, some) {
    MATCH p = (b)<-[:REFERENCES*0..2147483647]-(z:Object)
    WITH z, min(length(p)) AS left
    WHERE left < size(some) - 1
    MATCH (z)<-[:REFERENCES]-(y:Object)
    WHERE y <> b
    WITH y.key AS one, min([left, z.key]) AS next
    ORDER BY next[0] DESC
    RETURN collect([one, next[1]]) AS nexts
  }
  // In stretches of a hundred: a list of n keys takes n x n bytes to make.
  RETURN reduce(way = [a.key], begin IN range(0, size(nexts), 100) |
    way + tail(reduce(some = [way[-1]], next IN nexts[begin..begin + 100] |
      CASE WHEN next[0] = some[-1] THEN some + next[1] ELSE some END))) AS way
}
// Not in a subquery: each of its rows would have the way, n x n keys.
UNWIND range(0, size(way) - 1) AS step
WITH a, b, step, way[step] AS key, CASE WHEN step > 0 THEN way[step - 1] END AS before
MATCH (n:Object {key: key})
OPTIONAL MATCH (:Object {key: before})-[r:REFERENCES]->(n)
WITH a, b, step, n, min(r.field) AS via
ORDER BY a.key, b.key, step
LIMIT $limit
OPTIONAL MATCH (n)-[:INSTANCE_OF]->(t:Type)
RETURN
  a.domain AS domain,
  step,
  via AS field,
  coalesce(t.name, n.type_name) AS type,
  n.address AS address,
  n.shallow_bytes AS shallow_bytes,
  n.retained_bytes AS retained_bytes
ORDER BY a.key, b.key, step
LIMIT $limit
