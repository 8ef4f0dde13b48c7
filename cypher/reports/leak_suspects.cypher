// name: leak-suspects
// title: Leak suspects: objects that retain a large share of the heap
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: kind            STRING        `single`, or `group` of objects of one type
// column: type            STRING        full name of the type
// column: address         STRING        address of the object, or of the one of the group that retains most
// column: object_count    INTEGER       1, or the number of objects in the group
// column: retained_bytes  INTEGER       their retained size, bytes
// column: share           FLOAT         share of the reachable bytes, 0 to 1
// column: pile_type       STRING        type of the accumulation point
// column: pile_address    STRING        address of the accumulation point, which may be the object itself
// column: path            LIST<STRING>  a shortest path from a root to the object; null if longer than 10,000 objects
// column: why             STRING        the suspect in a sentence
//
// A single suspect is an object that no other object dominates and that retains at
// least a tenth of the reachable bytes. A group is two or more smaller such objects of
// one type that do so together. The accumulation point is found by following the
// largest dominated object as long as it retains at least 70 % of what its dominator
// retains. Open it with dominated-by to see what accumulates, and use
// shortest-root-path to see why it stays. A large share alone is not a leak: compare
// two dumps to see whether it grows. Suspects are computed when a dump is loaded.
MATCH (:Dump {number: $dump})-[:HAS_SUSPECT]->(s:Suspect)
MATCH (s)-[:SUSPECTS]->(o:Object)-[:INSTANCE_OF]->(t:Type)
MATCH (s)-[:ACCUMULATES_IN]->(p:Object)-[:INSTANCE_OF]->(q:Type)
RETURN
  s.kind AS kind,
  t.name AS type,
  o.address AS address,
  s.object_count AS object_count,
  s.retained_bytes AS retained_bytes,
  s.share AS share,
  q.name AS pile_type,
  p.address AS pile_address,
  s.path AS path,
  s.sentence AS why
ORDER BY s.rank
LIMIT $limit
