// name: shortest-root-path
// title: Shortest path from a root to an object
// mode: read
// param: dump     INTEGER         number of the dump
// param: address  STRING          of the object, as the dump has it: 0x1c15d2
// param: limit    INTEGER = 1000  most rows to return
// column: domain          INTEGER  ordinal of its domain; null where the dump has one
// column: step            INTEGER  0 is the root, the last is the object itself
// column: what            STRING   the root in words, `object`, or `missing object`
// column: field           STRING   through which the step before refers to it; of a static root, the static
// column: type            STRING   type of the object; of a static root, the type that contains it
// column: address         STRING   hexadecimal, as a debugger prints it
// column: shallow_bytes   INTEGER  its own bytes
// column: retained_bytes  INTEGER  what would be freed if it went, bytes
//
// Read from the top: the root keeps the first object, each object the next one. No
// row means that no strong root reaches the object, or that there is no such object
// (ask: object). Of several paths that are equally short the one whose objects come
// first in the dump is shown; see k-shortest-root-paths for others. Cutting a path
// does not free the object while another one is left: what must be cut is in
// dominator-chain. Addresses are unique within a domain only, so there may be one
// path for each domain. Of a path longer than the limit the beginning is shown.
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
