// name: maps-and-sets
// title: Maps and Sets by size
// group: JavaScript
// needs: v8, fields
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type             STRING   `Map` or `Set`
// column: address          STRING   hexadecimal, as a debugger prints it
// column: held_by          STRING   full type name of its immediate dominator; null for roots
// column: variable         STRING   field through which that refers to it; null for elements, and through others
// column: reference_count  INTEGER  references from its table: one for each key and each value that is no small number
// column: table_bytes      INTEGER  shallow size of it and its table, bytes
// column: retained_bytes   INTEGER  its retained size, bytes
//
// A Map that only grows is the most frequent leak of a server: look at the variable that
// holds it, and whether something deletes its entries. A snapshot does not record how many
// entries there are; a Map of strings to objects has two references for each. Continue with
// why for the address.
MATCH (t:Type)<-[:INSTANCE_OF]-(m:Object)-[rt:REFERENCES]->(table:Object)
WHERE t.dump = $dump AND t.name IN ['Map', 'Set'] AND m.root_distance IS NOT NULL
  AND rt.field = 'table'
WITH DISTINCT t, m, table,
  COUNT { MATCH (table)-[r:REFERENCES]->(:Object) WHERE r.field STARTS WITH '[' } AS reference_count
ORDER BY m.retained_bytes DESC, reference_count DESC, m.key
LIMIT $limit
OPTIONAL MATCH (h:Object)-[:DOMINATES]->(m)
OPTIONAL MATCH (h)-[:INSTANCE_OF]->(ht:Type)
OPTIONAL MATCH (h)-[r:REFERENCES]->(m)
WHERE NOT r.field STARTS WITH '['
WITH t, m, table, reference_count, ht, min(r.field) AS variable
RETURN
  t.name AS type,
  m.address AS address,
  ht.name AS held_by,
  variable,
  reference_count,
  m.shallow_bytes + table.shallow_bytes AS table_bytes,
  m.retained_bytes AS retained_bytes
ORDER BY retained_bytes DESC, reference_count DESC, m.key
LIMIT $limit
