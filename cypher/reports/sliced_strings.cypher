// name: sliced-strings
// title: Large strings that their slices keep alive
// group: JavaScript
// needs: v8, fields
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: address        STRING    address of the string that was cut, hexadecimal
// column: shallow_bytes  INTEGER  its shallow size, bytes
// column: slice_count    INTEGER  reachable strings that are slices of it
// column: only_slices    BOOLEAN  whether nothing else refers to it
// column: text           STRING   its text, the first 128 characters; null if not recorded
//
// What slice and substring cut out of a string, and what a regular expression matches, is
// often no copy: it refers to the whole string and keeps it alive, be it a file or the body
// of a request. Where only slices refer to a large string, a copy of them frees it.
// Continue with why for the address.
MATCH (t:Type)<-[:INSTANCE_OF]-(s:Object)-[r:REFERENCES]->(p:Object)
WHERE t.dump = $dump AND t.name = '(sliced string)' AND s.root_distance IS NOT NULL
  AND r.field = 'parent'
WITH t, p, count(DISTINCT s) AS slice_count
RETURN
  p.address AS address,
  p.shallow_bytes AS shallow_bytes,
  slice_count,
  NOT EXISTS {
    MATCH (x:Object|Root)-[:REFERENCES]->(p)
    WHERE (x:Root OR x.root_distance IS NOT NULL)
      AND NOT EXISTS { (x)-[:INSTANCE_OF]->(t) }
  } AS only_slices,
  p.value AS text
ORDER BY shallow_bytes DESC, slice_count DESC, p.key
LIMIT $limit
