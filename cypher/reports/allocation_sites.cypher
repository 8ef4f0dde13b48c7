// name: allocation-sites
// title: Allocation sites of the objects that are alive
// group: Traces
// needs: sites
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: site             STRING   function that allocated the objects
// column: reachable_bytes  INTEGER  shallow size of its reachable objects, bytes
// column: reachable_count  INTEGER  number of its reachable objects
// column: object_count     INTEGER  objects of the dump allocated there, including unreachable ones
// column: type             STRING   the most frequent type among them
// column: stack            STRING   call stack, innermost function first
//
// Recorded by CLR Profiler logs that contain every allocation, by V8 snapshots that
// were taken while allocations were tracked, and of Python and Ruby programs that trace
// their allocations: there a site is a line of a file. allocation-files adds them up by
// file, gem or package. For the allocation site of one object, run the query object with
// its address. No rows: the dump has no allocation sites.
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
