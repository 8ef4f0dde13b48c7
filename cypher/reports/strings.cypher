// name: strings
// title: Duplicate strings
// group: Objects and references
// needs: texts
// mode: read
// searched: texts that at least $min_count strings have
// param: dump       INTEGER       number of the dump
// param: min_count  INTEGER = 2   fewest equal strings
// param: limit      INTEGER = 20  maximum number of rows
// column: value           STRING   the text, cut at 128 characters (256 in Latin-1)
// column: length          INTEGER  full length, UTF-16 code units
// column: string_count    INTEGER  reachable strings with this text
// column: retained_bytes  INTEGER  their retained size, bytes: with the array that has the text
// column: wasted_bytes    INTEGER  retained size of all but the largest of them, bytes
// column: sample_address  STRING   address of the first of them in the dump
// column: holder_type     STRING   type of the first object that holds that one, nearest to the roots
//
// Equal strings stored many times: intern them, or share one copy. Java strings that
// share one array do not retain it. Texts of Java and Ruby that are cut end in a digest of the
// whole text, and so are equal only if that is. Those of other runtimes are compared by
// their start and their length, so strings that differ only after that count as equal.
// Strings whose text is not recorded are left out.
MATCH (t:Type)
WHERE t.dump = $dump AND t.value_kind = 'string'
MATCH (o:Object)-[:INSTANCE_OF]->(t)
WHERE o.root_distance IS NOT NULL AND o.value IS NOT NULL
WITH o.value AS value, o.length AS length, count(o) AS string_count,
  sum(o.retained_bytes) AS retained_bytes, max(o.retained_bytes) AS largest,
  min(o.key) AS key
WHERE string_count >= $min_count
WITH value, length, string_count, retained_bytes,
  retained_bytes - largest AS wasted_bytes, key
ORDER BY wasted_bytes DESC, string_count DESC, key
LIMIT $limit
MATCH (sample:Object {key: key})
CALL (sample) {
  OPTIONAL MATCH (h:Object)-[:REFERENCES]->(sample)
  WHERE h.root_distance IS NOT NULL
  OPTIONAL MATCH (h)-[:INSTANCE_OF]->(ht:Type)
  RETURN ht.name AS holder_type
  ORDER BY h.root_distance, h.key
  LIMIT 1
}
RETURN
  value,
  length,
  string_count,
  retained_bytes,
  wasted_bytes,
  sample.address AS sample_address,
  holder_type
ORDER BY wasted_bytes DESC, string_count DESC, key
LIMIT $limit
