// name: detached-dom
// title: Detached DOM nodes by who holds them
// group: JavaScript
// needs: v8
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type             STRING   full type name of the nodes
// column: held_by          STRING   full type name of their immediate dominator; null for roots
// column: node_count       INTEGER  detached nodes
// column: retained_bytes   INTEGER  sum of their retained sizes, bytes
// column: largest_address  STRING   address of the one with the largest retained size
//
// A detached node is in no document any more, and cannot be seen; what holds it is an event
// handler, a variable or another detached node. Rows whose holder is itself detached are
// the insides of trees: look at the others first. Continue with why for the address.
MATCH (t:Type)<-[:INSTANCE_OF]-(o:Object)
WHERE t.dump = $dump AND t.name STARTS WITH 'Detached ' AND o.root_distance IS NOT NULL
OPTIONAL MATCH (h:Object)-[:DOMINATES]->(o)
OPTIONAL MATCH (h)-[:INSTANCE_OF]->(ht:Type)
WITH t, ht.name AS held_by, o
ORDER BY o.retained_bytes DESC, o.key
WITH t.name AS type, held_by, count(o) AS node_count,
  sum(o.retained_bytes) AS retained_bytes, collect(o)[0] AS largest
RETURN type, held_by, node_count, retained_bytes, largest.address AS largest_address
ORDER BY retained_bytes DESC, largest.key
LIMIT $limit
