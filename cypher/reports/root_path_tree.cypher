// name: root-path-tree
// title: Shortest root paths of all objects, merged by type
// group: Roots and paths
// mode: read
// searched: the 2,000 paths with the most bytes
// more: EXISTS { MATCH (n:TypePath) WHERE n.dump = d.number AND n.tree = 'root_paths' AND
// more: n.rest_count > 0 }
// param: dump   INTEGER         number of the dump
// param: limit  INTEGER = 2000  maximum number of rows
// column: path           INTEGER  number of the merged path, from 0
// column: parent         INTEGER  number of the parent path; null at the top
// column: depth          INTEGER  steps from the top; 0 is the root of the tree
// column: type           STRING   full type name, or the kind or role of the root; empty at the top
// column: namespace      STRING   namespace or library; empty if the type has none
// column: object_count   INTEGER  objects merged into this node
// column: shallow_bytes  INTEGER  their shallow size, bytes
// column: total_count    INTEGER  those objects, and all whose paths continue from here
// column: total_bytes    INTEGER  shallow size of all of them, bytes
// column: rest_count     INTEGER  of those, objects in smaller paths that are not listed
// column: rest_bytes     INTEGER  their shallow size, bytes
// column: fingerprint    STRING   equal for the same path in another dump
//
// The shortest path from a root to each object, written as types and merged: first
// the kind of root, then its role if the dump records one (the static field, or the
// thread), then the types on the path; consecutive objects of one type are one step. It
// shows through which types the heap is reached from its roots, and how much through
// each. Each object is counted on one shortest path even if there are several of that
// length, so a total is not what is freed if a step is removed: see type-tree for that.
// The 2,000 paths with the most bytes are stored at load time; the first row is the root
// of the tree, and parents come before their children. The shallow size of a row, its
// rest, and the totals of its children add up to its total. A dump loaded by an older
// version has no rows. Continue with root-paths-of-type.
MATCH (n:TypePath)
WHERE n.dump = $dump AND n.tree = 'root_paths'
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
