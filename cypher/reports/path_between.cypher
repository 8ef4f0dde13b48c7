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
// are one object. Of several shortest paths, the one whose objects come first in the
// dump is shown; if there are more than 1,000, the first of 1,000 of them. If the
// dominator-chain of both has rows in common, the common dominator matters more than
// the path.
MATCH (a:Object {dump: $dump, address: $from})
MATCH (b:Object {dump: $dump, address: $to})
WITH a, b
WHERE a <> b
CALL (a, b) {
  MATCH p = allShortestPaths((a)-[:REFERENCES*..1000000]->(b))
  WITH nodes(p) AS steps, [r IN relationships(p) | r.field] AS fields
  LIMIT 1000
  WITH steps, fields
  ORDER BY [n IN steps | n.key], fields
  LIMIT 1
  RETURN collect([n IN steps[..$limit] | n])[0] AS steps, collect(fields)[0] AS fields
}
UNWIND range(0, coalesce(size(steps), 0) - 1) AS step
WITH a, b, step, steps[step] AS n,
  CASE WHEN step > 0 THEN fields[step - 1] END AS via
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
