// name: root-path-tree
// title: The shortest ways from roots to all objects, merged by type
// mode: read
// param: dump   INTEGER         number of the dump
// param: limit  INTEGER = 2000  most rows to return
// column: path           INTEGER  number of the merged path, from 0
// column: parent         INTEGER  number of the path that it continues; null at the top
// column: depth          INTEGER  steps from the top; 0 is the whole tree
// column: type           STRING   full name of the type at its end, or the kind of root; empty at the top
// column: namespace      STRING   namespace or library; empty where the type has none
// column: object_count   INTEGER  objects merged here
// column: shallow_bytes  INTEGER  bytes of those
// column: total_count    INTEGER  those objects, and all whose ways lead on from here
// column: total_bytes    INTEGER  bytes of all of them
// column: rest_count     INTEGER  of those, in smaller paths that are left out
// column: rest_bytes     INTEGER  bytes of those
//
// The shortest way from a root to each object, written as types and merged: first the
// kind of root, then the types on the way, a run of one type as one step. It shows
// through what the heap hangs on its roots, and how much on each way. An object has
// one way here even where it has several of one length, so a total is not what goes
// if a step goes: that is type-tree. The load keeps the 2,000 paths with most bytes:
// the first row is all of it, parents stand in front of their children. Own bytes, the
// rest, and the totals of the rows right below add up to a row's total. A dump that
// was loaded by an older version has no row. Go on with root-paths-of-type.
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
  n.rest_bytes AS rest_bytes
ORDER BY n.total_bytes DESC, n.key
LIMIT $limit
