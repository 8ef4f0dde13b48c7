// name: pinned-fragmentation
// title: Segments that pinned objects hold in place
// mode: read
// param: dump   INTEGER        number of the dump
// param: limit  INTEGER = 100  most rows to return
// column: segment            INTEGER       its ordinal by address
// column: kind               STRING        `ephemeral`, `gen2`, `loh`, `poh` or `unknown`
// column: pinned_count       INTEGER       objects in it that a root pins
// column: pinned_bytes       INTEGER       bytes of those
// column: span_bytes         INTEGER       from the first of them to the end of the last
// column: gap_bytes          INTEGER       of the span, what lies between pinned objects
// column: largest_gap_bytes  INTEGER       the largest stretch between two of them
// column: used_bytes         INTEGER       of the whole segment
// column: empty_bytes        INTEGER       used bytes of the segment that no object of the dump has
// column: kinds              LIST<STRING>  kinds of the roots that pin, by name
// column: types              LIST<STRING>  short names of the pinned objects' types, five at most, by name
//
// A collection that compacts can move what lies in the gaps, not the pinned objects:
// where few pinned bytes span a large part of a segment of kind ephemeral or gen2, its
// empty bytes can neither be given back nor used for something larger than a gap.
// Pins in the pinned and the large object heap (poh, loh) hurt nobody. The gaps hold
// other objects too: how much of each is empty, walk tells. Only pins at the moment
// of the dump are known. Addresses from 2^60 on are left out. Go on with
// pinned-objects for the single ones, free-space for all segments.
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
