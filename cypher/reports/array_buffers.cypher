// name: array-buffers
// title: Array buffers by size, and who holds them
// group: JavaScript
// needs: v8, fields
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type        STRING   `ArrayBuffer` or `SharedArrayBuffer`
// column: address     STRING   hexadecimal, as a debugger prints it
// column: data_bytes  INTEGER  size of its data, which are outside the heap of V8, bytes
// column: view_count  INTEGER  typed arrays, Buffers and DataViews of it
// column: view_type   STRING   full type name of those, the first by name
// column: held_by     STRING   full type name of its immediate dominator, or of that of its view; null for roots
//
// Data of buffers are not in the heap of V8, so that a process can be large while its heap
// is small. A small Buffer is a view of a pool of 8 KiB, and keeps all of it; copy what is
// to be kept. Buffers without data have no row. Continue with why for the address.
MATCH (t:Type)<-[:INSTANCE_OF]-(b:Object)-[r:REFERENCES]->(d:Object)
WHERE t.dump = $dump AND t.name IN ['ArrayBuffer', 'SharedArrayBuffer']
  AND b.root_distance IS NOT NULL AND r.field = 'backing_store'
WITH t, b, max(d.shallow_bytes) AS data_bytes
ORDER BY data_bytes DESC, b.key
LIMIT $limit
OPTIONAL MATCH (v:Object)-[rv:REFERENCES]->(b)
WHERE rv.field = 'buffer' AND v.root_distance IS NOT NULL
OPTIONAL MATCH (v)-[:INSTANCE_OF]->(vt:Type)
WITH t, b, data_bytes, count(DISTINCT v) AS view_count, min(vt.name) AS view_type
OPTIONAL MATCH (a:Object)-[:DOMINATES]->(b)
OPTIONAL MATCH (h:Object)-[:DOMINATES]->(a)
WHERE EXISTS { MATCH (a)-[rv:REFERENCES]->(b) WHERE rv.field = 'buffer' }
WITH t, b, data_bytes, view_count, view_type, coalesce(h, a) AS holder
OPTIONAL MATCH (holder)-[:INSTANCE_OF]->(ht:Type)
RETURN
  t.name AS type,
  b.address AS address,
  data_bytes,
  view_count,
  view_type,
  ht.name AS held_by
ORDER BY data_bytes DESC, b.key
LIMIT $limit
