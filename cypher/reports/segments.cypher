// name: segments
// title: The segments of the heap
// mode: read
// param: dump   INTEGER        number of the dump
// param: limit  INTEGER = 100  most rows to return
// column: segment            INTEGER  its ordinal by address
// column: start              STRING   first address
// column: end                STRING   address behind its last object
// column: committed_end      STRING   behind its committed memory; null if not told
// column: reserved_end       STRING   behind its reserved memory; null if not told
// column: logical_heap       INTEGER  the heap it belongs to, where there are several
// column: kind               STRING   `ephemeral`, `gen2`, `loh`, `poh` or `unknown`
// column: used_bytes         INTEGER  from start to end
// column: object_count       INTEGER  objects of the dump in it
// column: shallow_bytes      INTEGER  bytes of those
// column: other_bytes        INTEGER  used bytes that no object of the dump has
//
// New objects are made in ephemeral segments, large ones (85,000 bytes and more) in
// loh, where nothing is moved. Other bytes are free space between objects, garbage
// that a dump of live objects leaves out, or padding: many of them in a segment that
// is never given back is fragmentation: see free-space.
MATCH (:Dump {number: $dump})-[:HAS_SEGMENT]->(s:Segment)
RETURN
  s.ordinal AS segment,
  s.start AS start,
  s.end AS end,
  s.committed_end AS committed_end,
  s.reserved_end AS reserved_end,
  s.logical_heap AS logical_heap,
  s.kind AS kind,
  s.used_bytes AS used_bytes,
  s.object_count AS object_count,
  s.shallow_bytes AS shallow_bytes,
  s.used_bytes - s.shallow_bytes AS other_bytes
ORDER BY segment
LIMIT $limit
