// name: numpy-arrays
// title: Arrays of numpy by size, and the objects of pandas that hold them
// group: Python
// needs: python, fields
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: address        STRING   hexadecimal, as a debugger prints it
// column: elements       STRING   type of the elements, and shape: `<f8 (1000, 3)`; null if not recorded
// column: data_bytes     INTEGER  shallow size, bytes: with the data that it owns
// column: external_bytes INTEGER  data that a library in C has, bytes; null for none
// column: view_count     INTEGER  reachable arrays that are views of it
// column: held_by        STRING   full type name of its immediate dominator, or of that of its view; null for roots
// column: frame_type     STRING   type of the nearest DataFrame, Series or Index that dominates it; null for none
// column: frame_address  STRING   address of that
//
// A view, such as a slice, keeps all of the array that it is taken from; copy what is to be
// kept. Views have no row. A column of texts in pandas is an array of objects, whose
// elements are objects of their own; data of pyarrow are outside of what CPython counts.
// Continue with why for an address.
MATCH (t:Type)<-[:INSTANCE_OF]-(a:Object)
WHERE t.dump = $dump AND t.name = 'numpy.ndarray' AND a.root_distance IS NOT NULL
  AND (a.external_bytes > 0
    OR NOT EXISTS { MATCH (a)-[r:REFERENCES]->(:Object) WHERE r.field = 'base' })
WITH a
ORDER BY a.shallow_bytes + coalesce(a.external_bytes, 0) DESC, a.key
LIMIT $limit
OPTIONAL MATCH (v:Object)-[r:REFERENCES]->(a)
WHERE r.field = 'base' AND v.root_distance IS NOT NULL
WITH a, count(DISTINCT v) AS view_count
OPTIONAL MATCH (above:Object)-[:DOMINATES]->(a)
OPTIONAL MATCH (further:Object)-[:DOMINATES]->(above)
WHERE EXISTS { MATCH (above)-[r:REFERENCES]->(a) WHERE r.field = 'base' }
WITH a, view_count, coalesce(further, above) AS holder
OPTIONAL MATCH (holder)-[:INSTANCE_OF]->(ht:Type)
CALL (a) {
  OPTIONAL MATCH p = (f:Object)-[:DOMINATES*1..16]->(a)
  WHERE EXISTS {
    MATCH (f)-[:INSTANCE_OF]->(ft:Type)
    WHERE ft.name STARTS WITH 'pandas.' AND ft.name =~ '.*(DataFrame|Series|Index)'
  }
  RETURN f
  ORDER BY length(p)
  LIMIT 1
}
OPTIONAL MATCH (f)-[:INSTANCE_OF]->(ft:Type)
RETURN
  a.address AS address,
  a.value AS elements,
  a.shallow_bytes AS data_bytes,
  a.external_bytes AS external_bytes,
  view_count,
  ht.name AS held_by,
  ft.name AS frame_type,
  f.address AS frame_address
ORDER BY data_bytes + coalesce(external_bytes, 0) DESC, a.key
LIMIT $limit
