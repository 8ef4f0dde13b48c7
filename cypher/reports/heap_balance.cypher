// name: heap-balance
// title: Bytes of each logical heap
// mode: read
// param: dump   INTEGER        number of the dump
// param: limit  INTEGER = 100  most rows to return
// column: logical_heap     INTEGER  its number; null where segments tell none
// column: segment_count    INTEGER  segments of it
// column: used_bytes       INTEGER  used in them
// column: object_count     INTEGER  objects of the dump in them
// column: shallow_bytes    INTEGER  bytes of those
// column: reachable_bytes  INTEGER  bytes that a strong root reaches
// column: share            FLOAT    of all used bytes, 0 to 1
//
// The server collector has a logical heap for each core. One that is much larger than
// the others makes every collection wait for it.
MATCH (:Dump {number: $dump})-[:HAS_SEGMENT]->(s:Segment)
WITH sum(s.used_bytes) AS all_bytes
MATCH (:Dump {number: $dump})-[:HAS_SEGMENT]->(s:Segment)
WITH all_bytes, s.logical_heap AS logical_heap, count(s) AS segment_count,
  sum(s.used_bytes) AS used_bytes, sum(s.object_count) AS object_count,
  sum(s.shallow_bytes) AS shallow_bytes, sum(s.reachable_bytes) AS reachable_bytes
RETURN
  logical_heap,
  segment_count,
  used_bytes,
  object_count,
  shallow_bytes,
  reachable_bytes,
  CASE WHEN all_bytes = 0 THEN 0.0 ELSE 1.0 * used_bytes / all_bytes END AS share
ORDER BY logical_heap
LIMIT $limit
