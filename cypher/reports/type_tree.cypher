// name: type-tree
// title: The dominator tree, merged by type
// group: Ownership
// mode: read
// searched: the 2,000 paths with the most bytes
// more: EXISTS { MATCH (n:TypePath) WHERE n.dump = d.number AND n.tree = 'dominators' AND
// more: n.rest_count > 0 }
// param: dump   INTEGER         number of the dump
// param: limit  INTEGER = 2000  maximum number of rows
// column: path           INTEGER  number of the merged path, from 0
// column: parent         INTEGER  number of the parent path; null at the top
// column: depth          INTEGER  steps from the top; 0 is the root of the tree
// column: type           STRING   full type name at the end of the path; empty at the top
// column: namespace      STRING   namespace or library; empty if the type has none
// column: object_count   INTEGER  objects merged into this node
// column: shallow_bytes  INTEGER  their shallow size, bytes
// column: total_count    INTEGER  those objects, and all that they dominate
// column: total_bytes    INTEGER  shallow size of all of them, bytes: what the merged objects retain
// column: rest_count     INTEGER  of those, objects in smaller paths that are not listed
// column: rest_bytes     INTEGER  their shallow size, bytes
// column: fingerprint    STRING   equal for the same path in another dump
//
// Objects are merged if their dominators, up to the roots, have the same types;
// consecutive objects of one type are one step. Thousands of small objects, kept
// alive by the elements of one list, are one row with their sum here, where the
// dominator tree of objects shows nothing large. The 2,000 paths with the most bytes
// are stored at load time; the first row is the root of the tree, and parents come
// before their children. The shallow size of a row, its rest, and the totals of its
// children add up to its total. A dump loaded by an older version has no rows.
// Continue with owners-of-type for a type.
MATCH (n:TypePath)
WHERE n.dump = $dump AND n.tree = 'dominators'
WITH n
ORDER BY n.total_bytes DESC, n.key
LIMIT $limit
OPTIONAL MATCH (p:TypePath)-[:CONTAINS]->(n)
OPTIONAL MATCH (n)-[:OF_TYPE]->(t:Type)
RETURN
  n.key % 1099511627776 AS path,
  p.key % 1099511627776 AS parent,
  n.depth AS depth,
  coalesce(t.name, n.name) AS type,
  coalesce(t.namespace, '') AS namespace,
  n.object_count AS object_count,
  n.shallow_bytes AS shallow_bytes,
  n.total_count AS total_count,
  n.total_bytes AS total_bytes,
  n.rest_count AS rest_count,
  n.rest_bytes AS rest_bytes,
  n.fingerprint AS fingerprint
ORDER BY n.total_bytes DESC, n.key
LIMIT $limit
