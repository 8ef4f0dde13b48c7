// name: free-space
// title: Free space of each segment
// group: Segments and generations
// needs: segments
// mode: read
// param: dump   INTEGER        number of the dump
// param: limit  INTEGER = 100  maximum number of rows
// column: segment       INTEGER  ordinal of the segment, by address
// column: kind          STRING   `ephemeral`, `gen2`, `loh`, `poh` or `unknown`
// column: used_bytes    INTEGER  from the start of the segment to the end of its last object
// column: live_bytes    INTEGER  shallow size of reachable objects, bytes
// column: dead_bytes    INTEGER  shallow size of unreachable objects in the dump, without free ones, bytes
// column: free_count    INTEGER  free objects; null if the dump has none
// column: free_bytes    INTEGER  their shallow size, bytes; null if the dump has none
// column: other_bytes   INTEGER  used bytes that belong to no object in the dump
// column: empty_share   FLOAT    free and other bytes divided by used bytes, 0 to 1
//
// The runtime fills gaps with objects of a type named Free, so that the heap can be
// walked; few dumps contain them. Where a dump has none, gaps count as other bytes,
// together with garbage that a dump of live objects leaves out, and with padding. A
// share that stays high in segments of kind gen2 or loh from dump to dump is
// fragmentation: pinned-fragmentation shows which pins cause it; in the LOH the
// cause is large objects of varying sizes. Right after a collection an ephemeral
// segment is normally empty.
MATCH (d:Dump {number: $dump})-[:HAS_SEGMENT]->(s:Segment)
CALL (s) {
  MATCH (f:Type)
  WHERE f.dump = s.dump AND f.instance_count > 0
    AND f.name IN ['Free', 'System.Free', 'Free Space', 'Free Object']
  OPTIONAL MATCH (f)<-[:INSTANCE_OF]-(o:Object)
  WHERE o.segment = s.ordinal AND o.root_distance IS NULL
  RETURN count(f) AS types, count(o) AS holes, sum(o.shallow_bytes) AS hole_bytes
}
WITH s, holes, hole_bytes, types > 0 AS has_free_type,
  s.used_bytes - s.shallow_bytes AS other_bytes
RETURN
  s.ordinal AS segment,
  s.kind AS kind,
  s.used_bytes AS used_bytes,
  s.reachable_bytes AS live_bytes,
  s.shallow_bytes - s.reachable_bytes - hole_bytes AS dead_bytes,
  CASE WHEN has_free_type THEN holes END AS free_count,
  CASE WHEN has_free_type THEN hole_bytes END AS free_bytes,
  other_bytes,
  CASE
    WHEN s.used_bytes = 0 THEN 0.0
    ELSE 1.0 * (other_bytes + hole_bytes) / s.used_bytes
  END AS empty_share
ORDER BY segment
LIMIT $limit
