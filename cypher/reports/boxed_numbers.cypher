// name: boxed-numbers
// title: Numbers that are objects, and how many are equal
// group: Objects and references
// needs: numbers
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type            STRING   full type name
// column: object_count    INTEGER  reachable instances
// column: shallow_bytes   INTEGER  their shallow size, bytes
// column: value_count     INTEGER  distinct values
// column: wasted_bytes    INTEGER  shallow size of all but one for each value, bytes
// column: frequent_value  STRING   the most frequent value
// column: frequent_count  INTEGER  instances with that value
//
// Every number in a collection of objects is an object of its own: 16 bytes and a
// reference for an int of 4. Few values and many instances: create them with
// Integer.valueOf or Long.valueOf, which share small ones, or keep a table. Many
// values: use an array or a collection of primitive numbers.
MATCH (t:Type)
WHERE t.dump = $dump AND t.value_kind IN ['integer', 'double', 'boolean']
MATCH (o:Object)-[:INSTANCE_OF]->(t)
WHERE o.root_distance IS NOT NULL AND o.value IS NOT NULL
WITH t, o.value AS value, count(o) AS equal, sum(o.shallow_bytes) AS bytes,
  max(o.shallow_bytes) AS one
ORDER BY equal DESC, value
WITH t, sum(equal) AS object_count, sum(bytes) AS shallow_bytes,
  count(value) AS value_count, sum(bytes - one) AS wasted_bytes,
  collect(value)[0] AS frequent_value, collect(equal)[0] AS frequent_count
RETURN
  t.name AS type,
  object_count,
  shallow_bytes,
  value_count,
  wasted_bytes,
  frequent_value,
  frequent_count
ORDER BY wasted_bytes DESC, object_count DESC, t.key
LIMIT $limit
