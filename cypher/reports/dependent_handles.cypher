// name: dependent-handles
// title: What is kept as long as a key, by dependent handles
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: key_type         STRING   full name of the keys' type
// column: value_type       STRING   full name of the values' type
// column: handle_count     INTEGER  handles, each from a key to its value
// column: key_count        INTEGER  different keys
// column: value_count      INTEGER  different values
// column: live_key_count   INTEGER  of the keys, those that a strong root reaches
// column: back_count       INTEGER  handles whose value refers straight back to its key
// column: retained_bytes   INTEGER  of the values that their key alone keeps, bytes
// column: largest_address  STRING   of the values the one that retains most
//
// A ConditionalWeakTable ties a value to a key without a field: the value lives
// as long as the key does. In the graph that is a reference in the field (ephemeron).
// A value that refers back to its key does not keep it, as it would in a dictionary,
// so back count is no leak; but a value that something else holds, and that refers to
// the key on whatever way, keeps the key and so itself: ask shortest-root-path for the
// largest address. Only traces tell which value has which key: a .gcdump has roots of
// kind other in their place, see roots-by-kind. Types of keys are found by their
// fields, so only their objects are read.
MATCH (kt:Type)
WHERE kt.dump = $dump AND ' ' + kt.fields + ' ' CONTAINS ' (ephemeron) '
MATCH (kt)<-[:INSTANCE_OF]-(a:Object)-[r:REFERENCES]->(b:Object)
WHERE r.field = '(ephemeron)'
OPTIONAL MATCH (b)-[:INSTANCE_OF]->(bt:Type)
WITH kt.name AS key_type, coalesce(bt.name, b.type_name) AS value_type, a, b,
  count(r) AS handles,
  CASE WHEN EXISTS { (b)-[:REFERENCES]->(a) } THEN 1 ELSE 0 END AS back,
  CASE WHEN EXISTS { (a)-[:DOMINATES]->(b) } THEN b.retained_bytes ELSE 0 END AS kept
WITH key_type, value_type, b, sum(handles) AS handles, collect(a) AS keys,
  sum(handles * back) AS backs, max(kept) AS kept
ORDER BY b.retained_bytes DESC, b.key
WITH key_type, value_type, sum(handles) AS handle_count, collect(keys) AS by_value,
  count(b) AS value_count, sum(backs) AS back_count, sum(kept) AS retained_bytes,
  collect(b.address)[0] AS largest_address
CALL (by_value) {
  UNWIND by_value AS keys
  UNWIND keys AS a
  WITH DISTINCT a
  RETURN count(a) AS key_count, count(a.root_distance) AS live_key_count
}
RETURN
  key_type,
  value_type,
  handle_count,
  key_count,
  value_count,
  live_key_count,
  back_count,
  retained_bytes,
  largest_address
ORDER BY retained_bytes DESC, handle_count DESC, key_type, value_type
LIMIT $limit
