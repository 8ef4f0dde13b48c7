// name: dominated-types
// title: What an object dominates, merged by type, three steps down
// group: Ownership
// mode: read
// param: dump     INTEGER        number of the dump
// param: address  STRING         address of the object, for example 0x1c15d2
// param: limit    INTEGER = 200  maximum number of rows
// column: domain          INTEGER       ordinal of its domain; null if the dump has only one
// column: path            LIST<STRING>  full type names, from what the object immediately dominates down
// column: object_count    INTEGER       objects at the end of this path
// column: shallow_bytes   INTEGER       their shallow size, bytes
// column: retained_count  INTEGER       those objects, and all that they dominate
// column: retained_bytes  INTEGER       shallow size of all of them, bytes: what they retain together
//
// Thousands of small elements of one collection are a row with their sum, where
// dominated-by lists each. The path says what they are in: one name for what the
// object immediately dominates, two for what those dominate, three for the next step;
// nothing further down is listed. Objects of the first step that dominate others of
// their type, as entries of a map do in one bucket, are one step with those, up to 20
// in a row. All objects of three steps are looked at, so the query takes long for an
// object that dominates millions.
MATCH (o:Object {dump: $dump, address: $address})
CALL (o) {
  MATCH (o)-[:DOMINATES]->(a:Object)
    ((x)-[:DOMINATES]->(y:Object WHERE y.type_name = x.type_name)){0,20}
    (b:Object)
  WITH a.type_name AS first, b, CASE WHEN a = b THEN a END AS head
  WITH
    first, min(b.key) AS key, count(b) AS object_count,
    sum(b.shallow_bytes) AS shallow_bytes, sum(head.retained_count) AS retained_count,
    sum(head.retained_bytes) AS retained_bytes
  RETURN [key] AS keys, object_count, shallow_bytes, retained_count, retained_bytes
  UNION ALL
  MATCH (o)-[:DOMINATES]->(:Object)
    ((x)-[:DOMINATES]->(y:Object WHERE y.type_name = x.type_name)){0,20}
    (b:Object)-[:DOMINATES]->(c:Object WHERE c.type_name <> b.type_name)
  WITH
    b.type_name AS first, c.type_name AS second, min(b.key) AS b_key,
    min(c.key) AS key, count(c) AS object_count, sum(c.shallow_bytes) AS shallow_bytes,
    sum(c.retained_count) AS retained_count, sum(c.retained_bytes) AS retained_bytes
  RETURN
    [b_key, key] AS keys, object_count, shallow_bytes, retained_count, retained_bytes
  UNION ALL
  MATCH (o)-[:DOMINATES]->(:Object)
    ((x)-[:DOMINATES]->(y:Object WHERE y.type_name = x.type_name)){0,20}
    (b:Object)-[:DOMINATES]->(c:Object WHERE c.type_name <> b.type_name)
    -[:DOMINATES]->(d:Object WHERE d.type_name <> c.type_name)
  WITH
    b.type_name AS first, c.type_name AS second, d.type_name AS third,
    min(b.key) AS b_key, min(c.key) AS c_key, min(d.key) AS key,
    count(d) AS object_count, sum(d.shallow_bytes) AS shallow_bytes,
    sum(d.retained_count) AS retained_count, sum(d.retained_bytes) AS retained_bytes
  RETURN
    [b_key, c_key, key] AS keys, object_count, shallow_bytes, retained_count,
    retained_bytes
}
WITH
  o, object_count, shallow_bytes, retained_count, retained_bytes,
  [key IN keys | head(COLLECT {
    MATCH (n:Object {key: key})
    OPTIONAL MATCH (n)-[:INSTANCE_OF]->(t:Type)
    RETURN coalesce(t.name, n.type_name)
  })] AS path
RETURN
  o.domain AS domain,
  path,
  object_count,
  shallow_bytes,
  retained_count,
  retained_bytes
ORDER BY o.key, retained_bytes DESC, size(path), path
LIMIT $limit
