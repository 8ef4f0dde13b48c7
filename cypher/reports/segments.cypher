// name: segments
// title: Segments of the heap
// group: Segments and generations
// needs: segments
// mode: read
// param: dump   INTEGER        number of the dump
// param: limit  INTEGER = 100  maximum number of rows
// column: segment        INTEGER  ordinal of the segment, by address
// column: start          STRING   first address
// column: end            STRING   end of its last object
// column: reserved_end   STRING   end of its reserved memory; null if not recorded
// column: kind           STRING   `ephemeral`, `gen2`, `loh`, `poh` or `unknown`
// column: used_bytes     INTEGER  from start to end
// column: object_count   INTEGER  objects of the dump in it
// column: shallow_bytes  INTEGER  their shallow size, bytes
// column: other_bytes    INTEGER  used bytes that belong to no object in the dump
//
// New objects are allocated in ephemeral segments, large ones (85,000 bytes and
// more) on the LOH (loh), where objects are normally not moved. Other bytes are free
// space between objects, garbage that a dump of live objects leaves out, or padding:
// many of them in a segment that is never released are fragmentation: see
// free-space.
MATCH (:Dump {number: $dump})-[:HAS_SEGMENT]->(s:Segment)
RETURN
  s.ordinal AS segment,
  s.start AS start,
  s.end AS end,
  s.reserved_end AS reserved_end,
  s.kind AS kind,
  s.used_bytes AS used_bytes,
  s.object_count AS object_count,
  s.shallow_bytes AS shallow_bytes,
  s.used_bytes - s.shallow_bytes AS other_bytes
ORDER BY segment
LIMIT $limit
