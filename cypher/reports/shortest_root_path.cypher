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
// several shortest paths one is shown: from the object up, each step is the first
// holder in the order of the dump, and the last the first root: roots are in the order
// in which the dump has them, whatever their kinds; static fields of Java classes come
// after all others. See k-shortest-root-paths for other paths. Cutting one path does not
// free the object as long as another one remains: dominator-chain shows where to
// cut. Addresses are unique only within a domain, so there may be one path for each
// domain. If a path is longer than the limit, its start is shown.
MATCH (o:Object {dump: $dump, address: $address})
WHERE o.root_distance IS NOT NULL
CALL (o) {
  // In stretches of a hundred steps: a list of n keys takes n x n bytes to make.
  WITH reduce(
    keys = [o.key], begin IN range(2, o.root_distance, 100)
    | keys + tail(reduce(
      some = [keys[-1]],
      i IN range(begin, CASE
        WHEN begin + 99 < o.root_distance THEN begin + 99
        ELSE o.root_distance
      END)
      | some + COLLECT {
        MATCH (y:Object {key: some[-1]})<-[:REFERENCES]-(x:Object)
        WHERE x.root_distance = o.root_distance - i + 1
        RETURN x.key
        ORDER BY x.key
        LIMIT 1
      }
    ))
  ) AS keys
  UNWIND range(size(keys) - 1, 0, -1) AS i
  MATCH (x:Object {key: keys[i]})
  WITH i, x
  ORDER BY i DESC
  RETURN collect(x) AS objects
}
CALL (objects) {
  WITH objects[0] AS x
  MATCH (x)<-[:REFERENCES]-(root:Root)
  RETURN root
  ORDER BY root.key
  LIMIT 1
}
WITH o, ([root] + objects)[..$limit] AS steps
UNWIND range(0, size(steps) - 1) AS step
WITH o, step, steps[step] AS n, CASE WHEN step > 0 THEN steps[step - 1] END AS before
OPTIONAL MATCH (before)-[r:REFERENCES]->(n)
WITH o, step, n, min(r.field) AS via
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
