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
// dump is shown; if there are more than 1,000, the first of 1,000 of them. See
// k-shortest-root-paths for others. Cutting one path does not free the object as
// long as another one remains: dominator-chain shows where to cut. Addresses are
// unique only within a domain, so there may be one path for each domain. If a path
// is longer than the limit, its start is shown.
MATCH (d:Dump {number: $dump})
MATCH (o:Object {dump: $dump, address: $address})
CALL (d, o) {
  MATCH p = allShortestPaths((d)-[:HAS_ROOT|REFERENCES*..1000000]->(o))
  WITH tail(nodes(p)) AS steps, [r IN relationships(p) | r.field] AS fields
  LIMIT 1000
  WITH steps, fields
  ORDER BY [n IN steps | n.key], fields
  LIMIT 1
  RETURN collect([n IN steps[..$limit] | n])[0] AS steps, collect(fields)[0] AS fields
}
UNWIND range(0, coalesce(size(steps), 0) - 1) AS step
WITH o, step, steps[step] AS n, fields[step] AS via
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
