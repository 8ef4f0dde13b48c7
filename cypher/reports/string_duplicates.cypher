// name: string-duplicates
// title: Strings of equal size: what could be wasted at most
// mode: read
// param: dump       INTEGER                   number of the dump
// param: type       STRING = "System.String"  full name of the strings' type
// param: min_count  INTEGER = 2               fewest strings of one size
// param: limit      INTEGER = 20              most rows to return
// column: type            STRING   full name of the type
// column: each_bytes      INTEGER  size of each, bytes
// column: string_count    INTEGER  reachable strings of that size
// column: shallow_bytes   INTEGER  bytes of all of them
// column: wasted_bytes    INTEGER  bytes of all but one, if all were equal: an upper bound
// column: sample_address  STRING   the first of them in the dump
//
// Traces and .gcdump files have no text, so that only sizes tell strings apart: those
// of one size may be alike or all different, and what is wasted is at most this. A
// string of .NET has 22 bytes and 2 for each character, 14 and 2 in a process of 32
// bits, so that a size is one length. One that stands out by far is worth a look in
// the program: ids, keys and names that are parsed again and again have one length
// each. Where a dump has texts, strings tells which are alike, and those are not
// here. Go on with owners-of-type for who has them.
MATCH (t:Type)
WHERE t.dump = $dump AND t.name = $type AND t.value_kind IS NULL
MATCH (o:Object)-[:INSTANCE_OF]->(t)
WHERE o.root_distance IS NOT NULL
WITH t, o.shallow_bytes AS each_bytes, count(o) AS string_count, min(o.key) AS first
WHERE string_count >= $min_count
WITH t, each_bytes, string_count, first, (string_count - 1) * each_bytes AS wasted_bytes
ORDER BY wasted_bytes DESC, string_count DESC, first
LIMIT $limit
MATCH (sample:Object {key: first})
RETURN
  t.name AS type,
  each_bytes,
  string_count,
  string_count * each_bytes AS shallow_bytes,
  wasted_bytes,
  sample.address AS sample_address
ORDER BY wasted_bytes DESC, string_count DESC, first
LIMIT $limit
