// name: thread-local-values
// title: What threads keep in threading.local, by attribute
// group: Python
// needs: python, fields
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: variable         STRING   global variable that has the threading.local, the first by name; null for none
// column: type             STRING   its type: threading.local, or a class that extends it
// column: address          STRING   its address
// column: attribute        STRING   name of the attribute
// column: thread_count     INTEGER  threads that have it
// column: retained_bytes   INTEGER  sum of the retained sizes of their values, bytes
// column: largest_address  STRING   address of the value with the largest retained size
//
// A value lives until its thread ends, in a pool as long as the program, or until the
// threading.local goes. CPython does not tell which thread has which value. Continue with
// why for an address.
MATCH (base:Type)
WHERE base.dump = $dump AND base.name = '_thread._local'
MATCH (t:Type)
WHERE t.dump = $dump AND (t = base OR EXISTS {
  MATCH (k:Object)-[m:REFERENCES]->(:Object)-[:REFERENCES]->(b:Object)
  WHERE k.dump = $dump AND k.address = t.class_address AND m.field = '__mro__'
    AND b.address = base.class_address
})
WITH DISTINCT t
MATCH (t)<-[:INSTANCE_OF]-(l:Object)-[rt:REFERENCES]->(all:Object)
WHERE l.root_distance IS NOT NULL AND rt.field = '(threads)'
WITH DISTINCT t, l, all
MATCH (all)-[:REFERENCES]->(d:Object)-[:INSTANCE_OF]->(dt:Type)
WHERE dt.name = 'dict'
WITH DISTINCT t, l, d
MATCH (d)-[rv:REFERENCES]->(v:Object)
WHERE rv.field STARTS WITH '['
WITH DISTINCT t, l, d, rv.field AS field, v
ORDER BY v.retained_bytes DESC, v.key
WITH t, l, field, count(DISTINCT d) AS thread_count, collect(DISTINCT v) AS values
WITH t, l, field, thread_count, values[0] AS largest,
  reduce(sum = 0, v IN values | sum + v.retained_bytes) AS retained_bytes
ORDER BY retained_bytes DESC, l.key, field
LIMIT $limit
RETURN
  COLLECT {
    MATCH (r:Root)-[:REFERENCES]->(l)
    WHERE r.kind = 'static' AND r.field IS NOT NULL
    RETURN r.field AS name
    ORDER BY name
    LIMIT 1
  }[0] AS variable,
  t.name AS type,
  l.address AS address,
  CASE
    WHEN field STARTS WITH '[\'' THEN substring(field, 2, size(field) - 4)
    ELSE field
  END AS attribute,
  thread_count,
  retained_bytes,
  largest.address AS largest_address
ORDER BY retained_bytes DESC, l.key, field
LIMIT $limit
