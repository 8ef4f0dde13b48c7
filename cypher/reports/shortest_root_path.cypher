// name: shortest-root-path
// title: Shortest path from a root to an object
// group: Roots and paths
// mode: read
// param: dump     INTEGER         number of the dump
// param: address  STRING          address of the object, for example 0x1c15d2
// param: limit    INTEGER = 1000  maximum number of rows
// column: domain          INTEGER  ordinal of its domain; null if the dump has only one
// column: step            INTEGER  0 is the root, the last is the object itself
// column: what            STRING   description of the root, `object`, or `missing object`
// column: field STRING field through which the previous step refers to it; of a static root, the static field
// column: type            STRING   type of the object; for a static root, its declaring type
// column: address         STRING   hexadecimal, as a debugger prints it
// column: shallow_bytes   INTEGER  shallow size, bytes
// column: retained_bytes  INTEGER  retained size, bytes: freed if the object is freed
//
// Read from the top: the root keeps the first object alive, each object the next
// one. No rows: the object is unreachable, or does not exist (see object). Of
// several shortest paths, the first by root, then by objects, in the order of the
// dump is shown. See k-shortest-root-paths for others. Cutting one path does not
// free the object as long as another one remains: dominator-chain shows where to
// cut. Addresses are unique only within a domain, so there may be one path for each
// domain. If a path is longer than the limit, its start is shown.
MATCH (o:Object {dump: $dump, address: $address})
WHERE o.root_distance IS NOT NULL
CALL (o) {
  MATCH (o)<-[rs:REFERENCES*0..1000000]-(x:Object)
  WHERE all(r IN rs WHERE startNode(r).root_distance = endNode(r).root_distance - 1)
  WITH DISTINCT x
  WHERE x.root_distance = 1
  MATCH (x)<-[:REFERENCES]-(root:Root)
  RETURN root
  ORDER BY root.key
  LIMIT 1
}
CALL (o) {
  MATCH (o)<-[rs:REFERENCES*0..1000000]-(y:Object)
  WHERE all(r IN rs WHERE startNode(r).root_distance = endNode(r).root_distance - 1)
  WITH DISTINCT y
  MATCH (y)<-[:REFERENCES]-(x:Object)
  WHERE x.root_distance = y.root_distance - 1
  WITH x.key AS one, min(y.key) AS next
  RETURN collect([one, next]) AS firsts
}
MATCH p = shortestPath((root)-[:REFERENCES*..1000000]->(o))
WHERE all(
  r IN relationships(p)
  WHERE startNode(r) = root OR [startNode(r).key, endNode(r).key] IN firsts
)
WITH o, nodes(p)[..$limit] AS steps
CALL (steps) {
  UNWIND range(1, size(steps) - 1) AS i
  WITH i, steps[i - 1] AS x, steps[i] AS y
  MATCH (x)-[r:REFERENCES]->(y)
  WITH i, min(r.field) AS field
  ORDER BY i
  RETURN collect(coalesce(field, '')) AS fields
}
UNWIND range(0, size(steps) - 1) AS step
WITH o, step, steps[step] AS n,
  CASE WHEN step > 0 THEN nullIf(fields[step - 1], '') END AS via
OPTIONAL MATCH (n)-[:INSTANCE_OF|STATIC_IN]->(t:Type)
RETURN
  o.domain AS domain,
  step,
  CASE
    WHEN n:Root THEN n.name
    WHEN n.missing THEN 'missing object'
    ELSE 'object'
  END AS what,
  CASE WHEN n:Root THEN n.field ELSE via END AS field,
  coalesce(t.name, n.type_name) AS type,
  n.address AS address,
  n.shallow_bytes AS shallow_bytes,
  n.retained_bytes AS retained_bytes
ORDER BY o.key, step
LIMIT $limit
