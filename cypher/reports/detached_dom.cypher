// name: detached-dom
// title: Detached DOM trees by who holds them
// group: JavaScript
// needs: v8
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type             STRING   full type name of the tops of the trees
// column: held_by          STRING   full type name of their immediate dominator; null for roots
// column: variable         STRING   field through which that refers to them; null for elements, and through others
// column: above            STRING   full type name of the immediate dominator of that; null for roots
// column: above_variable   STRING   field through which that one refers to it; null likewise
// column: tree_count       INTEGER  detached nodes that no other detached node retains
// column: object_count     INTEGER  objects that would be freed with them
// column: retained_bytes   INTEGER  sum of their retained sizes, bytes
// column: largest_address  STRING   address of the one with the largest retained size
//
// A detached node is in no document any more, and cannot be seen; what holds it is an event
// handler, a variable, an array or a map. Only the tops of trees are counted: nodes that
// another detached node retains are freed with it. Objects of Node.js that are called
// detached are no nodes of a page, and have no row. Continue with why for the address.
MATCH (t:Type)<-[:INSTANCE_OF]-(o:Object)
WHERE t.dump = $dump AND t.name STARTS WITH 'Detached '
  AND NOT t.name STARTS WITH 'Detached Node / ' AND o.root_distance IS NOT NULL
OPTIONAL MATCH (h:Object)-[:DOMINATES]->(o)
OPTIONAL MATCH (h)-[:INSTANCE_OF]->(ht:Type)
WITH t, o, h, ht
WHERE ht IS NULL OR NOT ht.name STARTS WITH 'Detached '
OPTIONAL MATCH (h)-[r:REFERENCES]->(o)
WHERE NOT r.field STARTS WITH '['
WITH t, o, h, ht, min(r.field) AS variable
OPTIONAL MATCH (a:Object)-[:DOMINATES]->(h)
OPTIONAL MATCH (a)-[:INSTANCE_OF]->(at:Type)
OPTIONAL MATCH (a)-[ra:REFERENCES]->(h)
WHERE NOT ra.field STARTS WITH '['
WITH t, o, ht, variable, at, min(ra.field) AS above_variable
ORDER BY o.retained_bytes DESC, o.key
WITH t.name AS type, ht.name AS held_by, variable, at.name AS above, above_variable,
  count(o) AS tree_count, sum(o.retained_count) AS object_count,
  sum(o.retained_bytes) AS retained_bytes, collect(o)[0] AS largest
RETURN
  type,
  held_by,
  variable,
  above,
  above_variable,
  tree_count,
  object_count,
  retained_bytes,
  largest.address AS largest_address
ORDER BY retained_bytes DESC, largest.key
LIMIT $limit
