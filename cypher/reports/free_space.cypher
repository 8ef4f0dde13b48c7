// name: free-space
// title: How much of each segment is no object
// mode: read
// param: dump   INTEGER        number of the dump
// param: limit  INTEGER = 100  most rows to return
// column: segment       INTEGER  its ordinal by address
// column: kind          STRING   `ephemeral`, `gen2`, `loh`, `poh` or `unknown`
// column: logical_heap  INTEGER  the heap it belongs to, where there are several
// column: used_bytes    INTEGER  from its start to behind its last object
// column: live_bytes    INTEGER  bytes of objects that a strong root reaches
// column: dead_bytes    INTEGER  bytes of other objects of the dump, free ones left out
// column: free_count    INTEGER  free objects; null where the dump has none
// column: free_bytes    INTEGER  bytes of those; null likewise
// column: other_bytes   INTEGER  used bytes of no object in the dump
// column: empty_share   FLOAT    free and other bytes by used bytes, 0 to 1
//
// The runtime fills holes with objects of a type named Free, so that the heap can be
// walked; few dumps have them. Where a dump has none, holes are among the other bytes:
// with the garbage that a dump of live objects leaves out, and with padding. A share
// that stays high in segments of kind gen2 or loh from dump to dump is fragmentation:
// pinned-fragmentation tells which pins are to blame; in loh it is large objects of
// changing sizes. Right after a collection an ephemeral segment is empty as a rule.
MATCH (d:Dump {number: $dump})-[:HAS_SEGMENT]->(s:Segment)
CALL (s) {
  MATCH (f:Type)
  WHERE f.dump = s.dump AND f.instance_count > 0
    AND f.name IN ['Free', 'System.Free', 'Free Space', 'Free Object']
  OPTIONAL MATCH (f)<-[:INSTANCE_OF]-(o:Object)
  WHERE o.segment = s.ordinal AND o.root_distance IS NULL
  RETURN count(f) AS types, count(o) AS holes, sum(o.shallow_bytes) AS hole_bytes
}
WITH s, holes, hole_bytes, types > 0 AS told,
  s.used_bytes - s.shallow_bytes AS other_bytes
RETURN
  s.ordinal AS segment,
  s.kind AS kind,
  s.logical_heap AS logical_heap,
  s.used_bytes AS used_bytes,
  s.reachable_bytes AS live_bytes,
  s.shallow_bytes - s.reachable_bytes - hole_bytes AS dead_bytes,
  CASE WHEN told THEN holes END AS free_count,
  CASE WHEN told THEN hole_bytes END AS free_bytes,
  other_bytes,
  CASE
    WHEN s.used_bytes = 0 THEN 0.0
    ELSE 1.0 * (other_bytes + hole_bytes) / s.used_bytes
  END AS empty_share
ORDER BY segment
LIMIT $limit
