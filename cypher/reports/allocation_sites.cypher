// name: allocation-sites
// title: Places in the program that allocated what is alive
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: site             STRING   the function that allocated
// column: reachable_bytes  INTEGER  bytes of its objects that a strong root reaches
// column: reachable_count  INTEGER  how many those are
// column: object_count     INTEGER  objects of the dump from there, dead ones too
// column: type             STRING   the type that most of them are
// column: stack            STRING   functions, the innermost first
//
// Only logs of a profiler that tells each allocation have them; of an object, ask
// object for its address. No row: the dump has none.
MATCH (:Dump {number: $dump})-[:HAS_ALLOCATION_SITE]->(s:AllocationSite)
WITH s
ORDER BY s.reachable_bytes DESC, s.object_count DESC, s.key
LIMIT $limit
CALL (s) {
  MATCH (s)<-[:ALLOCATED_AT]-(o:Object)-[:INSTANCE_OF]->(t:Type)
  WITH t.name AS type, count(*) AS many
  ORDER BY many DESC, type
  LIMIT 1
  RETURN type
}
RETURN
  s.name AS site,
  s.reachable_bytes AS reachable_bytes,
  s.reachable_count AS reachable_count,
  s.object_count AS object_count,
  type,
  s.stack AS stack
ORDER BY s.reachable_bytes DESC, s.object_count DESC, s.key
LIMIT $limit
