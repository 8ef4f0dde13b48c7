// name: concatenated-strings
// title: Strings that are chains of their parts
// group: JavaScript
// needs: v8
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: address         STRING   hexadecimal, as a debugger prints it
// column: held_by         STRING   full type name of its immediate dominator; null for roots
// column: variable        STRING   field through which that refers to it; null for elements, and through others
// column: object_count    INTEGER  objects that would be freed with it: its parts, and what joins them
// column: retained_bytes  INTEGER  its retained size, bytes
//
// A string that was made by adding one piece after the other is a chain of pairs until
// something reads it, and takes 32 bytes more for each piece. Where there are many pieces,
// join an array of them, or read a character of the result. Parts of a chain have no row
// of their own. Continue with why for the address.
MATCH (t:Type)<-[:INSTANCE_OF]-(s:Object)
WHERE t.dump = $dump AND t.name = '(concatenated string)' AND s.root_distance IS NOT NULL
  AND NOT EXISTS {
    MATCH (x:Object)-[:REFERENCES]->(s)
    WHERE x.root_distance IS NOT NULL AND x <> s AND EXISTS { (x)-[:INSTANCE_OF]->(t) }
  }
WITH s
ORDER BY s.retained_bytes DESC, s.key
LIMIT $limit
OPTIONAL MATCH (h:Object)-[:DOMINATES]->(s)
OPTIONAL MATCH (h)-[:INSTANCE_OF]->(ht:Type)
OPTIONAL MATCH (h)-[r:REFERENCES]->(s)
WHERE NOT r.field STARTS WITH '['
WITH s, ht, min(r.field) AS variable
RETURN
  s.address AS address,
  ht.name AS held_by,
  variable,
  s.retained_count AS object_count,
  s.retained_bytes AS retained_bytes
ORDER BY retained_bytes DESC, s.key
LIMIT $limit
