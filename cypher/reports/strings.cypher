// name: strings
// title: Strings of which there are several alike
// mode: read
// param: dump       INTEGER       number of the dump
// param: min_count  INTEGER = 2   fewest strings alike
// param: limit      INTEGER = 20  most rows to return
// column: value           STRING   the text, cut at 128 characters
// column: length          INTEGER  its whole length, code units
// column: string_count    INTEGER  reachable strings alike
// column: shallow_bytes   INTEGER  bytes of all of them
// column: wasted_bytes    INTEGER  bytes of all but the largest of them
// column: sample_address  STRING   the first of them in the dump
// column: holder_type     STRING   the first holder of that one, nearest to the roots
//
// The same text held many times: intern it, or share one copy. Strings longer than
// 128 characters are told by their beginning and their length, so that two that
// differ only behind that count as alike.
MATCH (t:Type)
WHERE t.dump = $dump AND t.value_kind = 'string'
MATCH (o:Object)-[:INSTANCE_OF]->(t)
WHERE o.root_distance IS NOT NULL
WITH o.value AS value, o.length AS length, count(o) AS string_count,
  sum(o.shallow_bytes) AS shallow_bytes, max(o.shallow_bytes) AS largest,
  min(o.key) AS key
WHERE string_count >= $min_count
WITH value, length, string_count, shallow_bytes, shallow_bytes - largest AS wasted_bytes,
  key
ORDER BY wasted_bytes DESC, string_count DESC, key
LIMIT $limit
MATCH (sample:Object {key: key})
CALL (sample) {
  OPTIONAL MATCH (h:Object)-[:REFERENCES]->(sample)
  OPTIONAL MATCH (h)-[:INSTANCE_OF]->(ht:Type)
  RETURN ht.name AS holder_type
  ORDER BY coalesce(h.root_distance, 1000000000), h.key
  LIMIT 1
}
RETURN
  value,
  length,
  string_count,
  shallow_bytes,
  wasted_bytes,
  sample.address AS sample_address,
  holder_type
ORDER BY wasted_bytes DESC, string_count DESC, key
LIMIT $limit
