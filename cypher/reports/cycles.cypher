// name: cycles
// title: Reference cycles
// group: Leaks
// mode: read
// searched: the $candidates objects that retain most, for cycles of at most 8 references
// more: CASE $type WHEN '' THEN d.object_count + d.missing_count ELSE COUNT { (:Type {dump:
// more: d.number, name: $type})<-[:INSTANCE_OF]-(:Object) } END > $candidates
// param: dump        INTEGER        number of the dump
// param: candidates  INTEGER = 200  number of objects to start from, by retained size
// param: type        STRING = ""    start from instances of this type only (full name); all types if empty
// param: limit       INTEGER = 20   maximum number of rows
// column: length          INTEGER       references in the cycle
// column: retained_bytes  INTEGER       largest retained size among its members, bytes
// column: alive           BOOLEAN       whether it is reachable from a root
// column: members         LIST<STRING>  short type name and address of each member, in the order of the dump
//
// The shortest cycle through each candidate, of at most eight references; of several
// the one whose objects come first in the dump. A cycle
// found from several of its members is one row. A tracing collector frees cycles
// that nothing else refers to, so a cycle is no leak by itself, but its members live
// and die together: one forgotten listener keeps all of them alive. Give a type to
// start from other objects than the largest, or to find cycles among unreachable
// objects.
CALL () {
  MATCH (o:Object)
  WHERE $type = '' AND o.dump = $dump AND o.retained_bytes >= 0
  RETURN o
  ORDER BY o.dump DESC, o.retained_bytes DESC, o.key
  LIMIT $candidates
  UNION ALL
  MATCH (:Type {dump: $dump, name: $type})<-[:INSTANCE_OF]-(o:Object)
  RETURN o
  ORDER BY o.retained_bytes DESC, o.key
  LIMIT $candidates
}
CALL (o) {
  MATCH p = SHORTEST 1 (o) (()-[:REFERENCES]->(:Object)){1,8} (o)
  RETURN length(p) AS length
}
// Of several the first; where there are more than 1,000, the first of 1,000.
CALL (o, length) {
  WITH o
  WHERE length = 1
  RETURN [o.key] AS keys
  UNION
  WITH o
  WHERE length = 2
  MATCH (o)-[:REFERENCES]->(x:Object)-[:REFERENCES]->(o)
  WITH o, min(x.key) AS first
  RETURN [first, o.key] AS keys
  UNION
  WITH o
  WHERE length > 2
  MATCH p = ALL SHORTEST (o) (()-[:REFERENCES]->(:Object)){3,8} (o)
  WITH p
  LIMIT 1000
  RETURN min([n IN tail(nodes(p)) | n.key]) AS keys
}
WITH keys
WHERE keys[0] IS NOT NULL
CALL (keys) {
  UNWIND range(0, size(keys) - 1) AS i
  MATCH (n:Object {key: keys[i]})
  WITH i, n
  ORDER BY i
  RETURN collect(n) AS circle
}
WITH circle, reduce(
  first = 0, i IN range(1, size(circle) - 1) |
  CASE WHEN circle[i].key < circle[first].key THEN i ELSE first END
) AS first
WITH DISTINCT circle[first..] + circle[..first] AS circle
WITH circle, reduce(
  most = 0, n IN circle |
  CASE WHEN n.retained_bytes > most THEN n.retained_bytes ELSE most END
) AS retained_bytes
RETURN
  size(circle) AS length,
  retained_bytes,
  circle[0].root_distance IS NOT NULL AS alive,
  [n IN circle |
    n.type_name + ' ' + n.address + coalesce(' "' + left(n.value, 40) + '"', '')
  ] AS members
ORDER BY retained_bytes DESC, length, [n IN circle | n.key]
LIMIT $limit
