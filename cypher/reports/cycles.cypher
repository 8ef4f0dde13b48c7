// name: cycles
// title: Objects that refer to one another in a circle
// mode: read
// param: dump        INTEGER        number of the dump
// param: candidates  INTEGER = 200  how many objects to start from, those that retain most
// param: type        STRING = ""    start from instances of this type (full name); all if empty
// param: limit       INTEGER = 20   most rows to return
// column: length          INTEGER       references in the circle
// column: retained_bytes  INTEGER       of the member that retains most, bytes
// column: alive           BOOLEAN       whether a strong root reaches it
// column: members         LIST<STRING>  short type and address of each, the first of the dump first
//
// A shortest circle through each candidate, of at most eight references; circles
// found from several of their members are one row. A tracing collector frees circles
// that nothing else holds, so they are no leak by themselves, but all members live
// and die together: one forgotten listener keeps all. Give a type to look at others
// than the largest objects, or to find circles of garbage.
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
  RETURN tail(nodes(p)) AS circle
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
