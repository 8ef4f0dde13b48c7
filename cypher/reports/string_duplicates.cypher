// name: string-duplicates
// title: Possible duplicate strings, by size
// group: Objects and references
// mode: read
// searched: sizes that at least $min_count strings have
// param: dump       INTEGER                   number of the dump
// param: type       STRING = "System.String"  full name of the string type
// param: min_count  INTEGER = 2               fewest strings of one size
// param: limit      INTEGER = 20              maximum number of rows
// column: type            STRING   full type name
// column: each_bytes      INTEGER  size of each string, bytes
// column: string_count    INTEGER  reachable strings of that size
// column: shallow_bytes   INTEGER  their shallow size, bytes
// column: wasted_bytes    INTEGER  upper bound of the waste, bytes: all but one, if all were equal
// column: sample_address  STRING   address of the first of them in the dump
//
// Traces and .gcdump files contain no text, so strings can only be compared by size:
// strings of one size may be equal or all different, and the waste is an upper
// bound. A .NET string takes 22 bytes plus 2 for each character, 14 plus 2 in a
// 32-bit process, so each size is one length. A size that stands out is worth
// checking in the program: ids, keys and names that are parsed over and over have
// the same length. If a dump contains the texts, strings lists the equal ones, and
// those are not listed here. Continue with owners-of-type for the owners.
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
