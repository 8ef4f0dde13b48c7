// name: pinned-fragmentation
// title: Fragmentation of segments by pinned objects
// group: Segments and generations
// needs: segments, pinned
// mode: read
// searched: objects with addresses below 2^60
// param: dump   INTEGER        number of the dump
// param: limit  INTEGER = 100  maximum number of rows
// column: segment            INTEGER       ordinal of the segment, by address
// column: kind               STRING        `ephemeral`, `gen2`, `loh`, `poh` or `unknown`
// column: pinned_count       INTEGER       pinned objects in it
// column: pinned_bytes       INTEGER       their shallow size, bytes
// column: span_bytes         INTEGER       from the start of the first of them to the end of the last
// column: gap_bytes          INTEGER       of the span, bytes between pinned objects
// column: largest_gap_bytes  INTEGER       largest gap between two of them
// column: used_bytes         INTEGER       used bytes of the segment
// column: empty_bytes        INTEGER       used bytes of the segment that belong to no object in the dump
// column: kinds              LIST<STRING>  kinds of the roots that pin them, sorted
// column: types              LIST<STRING>  short type names of the pinned objects, at most five, sorted
//
// A compacting collection can move the objects in the gaps, but not the pinned ones:
// where few pinned bytes span a large part of a segment of kind ephemeral or gen2,
// its empty bytes can be neither returned to the system nor used for anything larger
// than a gap. Pins on the pinned and the large object heap (poh, loh) do no harm.
// The gaps contain other objects too: walk shows how much of each gap is empty. Only
// pins at the time of the dump are known. Addresses from 2^60 on are left out.
// Continue with pinned-objects for single objects, and with free-space for all
// segments.
MATCH (:Dump {number: $dump})-[:HAS_ROOT]->(r:Root)
WHERE r.pinned
MATCH (r)-[:REFERENCES|WEAKLY_REFERENCES]->(o:Object)
WHERE o.segment IS NOT NULL AND size(o.address) < 18
WITH DISTINCT o, r.kind AS kind
ORDER BY kind
WITH o, collect(kind) AS kinds
WITH o, kinds, reduce(
    value = 0, digit IN split(substring(o.address, 2), '') |
    16 * value + size(split('0123456789abcdef', digit)[0])
  ) AS start
ORDER BY start, o.key
WITH o.segment AS segment, collect(start) AS starts,
  collect(start + o.shallow_bytes) AS ends, sum(o.shallow_bytes) AS pinned_bytes,
  collect(kinds) AS all_kinds, collect(DISTINCT o.type_name) AS all_types
MATCH (:Dump {number: $dump})-[:HAS_SEGMENT]->(s:Segment {ordinal: segment})
CALL (starts, ends) {
  UNWIND range(0, size(starts) - 1) AS i
  RETURN max(CASE WHEN i > 0 THEN starts[i] - ends[i - 1] ELSE 0 END) AS largest_gap
}
CALL (all_kinds) {
  UNWIND all_kinds AS kinds
  UNWIND kinds AS kind
  WITH DISTINCT kind
  ORDER BY kind
  RETURN collect(kind) AS kinds
}
CALL (all_types) {
  UNWIND all_types AS type
  WITH type
  ORDER BY type
  RETURN collect(type)[..5] AS types
}
WITH s, starts, pinned_bytes, ends[-1] - starts[0] AS span_bytes, largest_gap, kinds,
  types
RETURN
  s.ordinal AS segment,
  s.kind AS kind,
  size(starts) AS pinned_count,
  pinned_bytes,
  span_bytes,
  span_bytes - pinned_bytes AS gap_bytes,
  largest_gap AS largest_gap_bytes,
  s.used_bytes AS used_bytes,
  s.used_bytes - s.shallow_bytes AS empty_bytes,
  kinds,
  types
ORDER BY gap_bytes DESC, segment
LIMIT $limit
