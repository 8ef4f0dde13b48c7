// name: dependent-handles
// title: Values kept alive by a key through dependent handles
// group: .NET
// needs: dotnet, fields
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: key_type         STRING   full type name of the keys
// column: value_type       STRING   full type name of the values
// column: handle_count     INTEGER  handles, each from a key to its value
// column: key_count        INTEGER  distinct keys
// column: value_count      INTEGER  distinct values
// column: live_key_count   INTEGER  reachable keys
// column: back_count       INTEGER  handles whose value refers directly back to its key
// column: retained_bytes   INTEGER  sum of the retained sizes of the values that only their key keeps alive, bytes
// column: largest_address  STRING   address of the value with the largest retained size
//
// A ConditionalWeakTable attaches a value to a key without a field: the value lives
// as long as the key does. In the graph this is a reference with the field
// (ephemeron). A value that refers back to its key does not keep it alive, as it
// would in a dictionary, so back_count is no sign of a leak. But a value that
// something else keeps alive, and that refers to the key on any path, keeps the key
// alive and so itself: use shortest-root-path for the largest address. Only traces
// record which value belongs to which key: a .gcdump has roots of kind other
// instead, see roots-by-kind. The types of the keys are known from their fields, so
// only their objects are read.
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
